/** What was written and not sent, per room, on this device. Survives a reload; lists may show that there is one. */
import { useSyncExternalStore } from "react";
import { readLocal, writeLocal } from "./storage";

const prefix = "agntchat.draft.";
const listeners = new Set<() => void>();

export function readDraft(roomId: string): string {
  return readLocal(prefix + roomId) ?? "";
}

export function writeDraft(roomId: string, text: string): void {
  const had = readDraft(roomId) !== "";
  writeLocal(prefix + roomId, text.trim() ? text : null);
  // A list shows whether there is a draft and its first words; not every keystroke is news to it.
  if (had !== (text.trim() !== "")) for (const listener of listeners) listener();
}

/** True while the room has a draft. */
export function useHasDraft(roomId: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => readDraft(roomId) !== "",
  );
}
