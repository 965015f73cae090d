import type { timeline as en } from "../en/timeline";

export const timeline: Record<keyof typeof en, string> = {};
