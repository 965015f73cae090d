import { createContext, useContext } from "react";
import type { Hub } from "./hub";

export const HubContext = createContext<Hub | null>(null);

/** The hub of the signed-in session. Screens use the hooks of `hooks.ts` instead. */
export function useHub(): Hub {
  const hub = useContext(HubContext);
  if (!hub) throw new Error("useHub outside of RealtimeProvider");
  return hub;
}
