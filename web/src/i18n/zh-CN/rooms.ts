import type { rooms as en } from "../en/rooms";

export const rooms: Record<keyof typeof en, string> = {};
