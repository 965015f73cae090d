/** Set on this device when the person chose a time zone by hand: the device's own then no longer overwrites it. */
export const CHOSEN_ZONE = "agntchat.timezone";

export function deviceZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
}

/** IANA names this browser knows, its own first. */
export function allZones(): string[] {
  const known = typeof Intl.supportedValuesOf === "function" ? Intl.supportedValuesOf("timeZone") : [];
  return [...new Set([deviceZone(), "UTC", ...known])];
}
