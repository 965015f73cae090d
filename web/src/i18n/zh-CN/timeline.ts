import type { timeline as en } from "../en/timeline";

export const timeline: Record<keyof typeof en, string> = {
  "code.plain": "文本",
  "code.wrap": "自动换行",
  "image.untitled": "图片",
  "image.show": "从 {host} 加载",
};
