import type { agents as en } from "../en/agents";

export const agents: Record<keyof typeof en, string> = {};
