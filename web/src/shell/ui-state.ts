/** What the frame of the app remembers: open dialogs, folded bars, widths. Small, local, outside React so that shortcuts can reach it. */
import { useSyncExternalStore } from "react";
import { readLocal, writeLocal } from "#/lib/storage";

export interface ShellState {
  switcher: boolean;
  newRoom: boolean;
  shortcuts: boolean;
  details: boolean;
  sidebar: boolean;
  sidebarWidth: number;
  paneWidth: number;
}

const number = (key: string, fallback: number) => Number(readLocal(key)) || fallback;

let state: ShellState = {
  switcher: false,
  newRoom: false,
  shortcuts: false,
  details: false,
  sidebar: readLocal("agntchat.sidebar") !== "hidden",
  sidebarWidth: number("agntchat.sidebarWidth", 300),
  paneWidth: number("agntchat.paneWidth", 340),
};
const listeners = new Set<() => void>();

export function setShell(change: Partial<ShellState>): void {
  state = { ...state, ...change };
  if (change.sidebar !== undefined) writeLocal("agntchat.sidebar", change.sidebar ? null : "hidden");
  if (change.sidebarWidth) writeLocal("agntchat.sidebarWidth", String(change.sidebarWidth));
  if (change.paneWidth) writeLocal("agntchat.paneWidth", String(change.paneWidth));
  for (const listener of listeners) listener();
}

export function getShell(): ShellState {
  return state;
}

export function useShell<K extends keyof ShellState>(key: K): ShellState[K] {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => state[key],
  );
}
