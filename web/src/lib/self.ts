import { useSyncExternalStore } from "react";
import { session } from "#/api/session";
import type { Self } from "#/api/types";

/** The signed-in person. Only below the signed-in layout, where there is one. */
export function useSelf(): Self {
  const self = useSyncExternalStore(session.subscribe, () => session.get()?.self ?? null);
  // While signing out a last render may come: it shows nobody rather than failing.
  return self ?? nobody;
}

const nobody: Self = { id: "", type: "human", displayName: "" };
