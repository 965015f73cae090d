import type { guide as en } from "../en/guide";

export const guide: Record<keyof typeof en, string> = {};
