import type { composer as en } from "../en/composer";

export const composer: Record<keyof typeof en, string> = {};
