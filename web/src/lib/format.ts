// Times, days and sizes in the words of the current language. Formatters are costly to build, so one of each is kept per language.
import { getLocale, t, tn } from "#/i18n";

const cache = new Map<string, Intl.DateTimeFormat>();

/** The reader's own variant of the language (en-GB writes 14:30, en-US 2:30 PM), when the browser knows one. */
function region(): string {
  const base = getLocale().split("-")[0] ?? "en";
  return navigator.languages?.find((l) => l.toLowerCase().split("-")[0] === base) ?? getLocale();
}

function formatter(name: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = `${getLocale()}:${name}`;
  let f = cache.get(key);
  if (!f) {
    f = new Intl.DateTimeFormat(region(), options);
    cache.set(key, f);
  }
  return f;
}

/** Hours and minutes, as the language writes them. */
export function clock(iso: string): string {
  return formatter("clock", { timeStyle: "short" }).format(new Date(iso));
}

/** Everything, to the second, with the zone: what is shown on hover. */
export function exactTime(iso: string): string {
  return formatter("exact", { dateStyle: "full", timeStyle: "long" }).format(new Date(iso));
}

/** Day and clock, for a time that is still to come. */
export function dateTime(iso: string): string {
  return formatter("dateTime", { dateStyle: "medium", timeStyle: "short" }).format(new Date(iso));
}

/** The local calendar day, `2026-11-30`: the same for two times exactly when they share a day divider. */
export function dayKey(iso: string): string {
  const d = new Date(iso);
  return `${d.getFullYear()}-${String(d.getMonth() + 1).padStart(2, "0")}-${String(d.getDate()).padStart(2, "0")}`;
}

function daysAgo(iso: string, now: Date): number {
  const day = new Date(iso);
  const a = new Date(day.getFullYear(), day.getMonth(), day.getDate());
  const b = new Date(now.getFullYear(), now.getMonth(), now.getDate());
  return Math.round((b.getTime() - a.getTime()) / 86_400_000);
}

/** Today, Yesterday, a weekday within the week, else the date (with the year when it is another one). */
export function dayLabel(iso: string, now = new Date()): string {
  const ago = daysAgo(iso, now);
  if (ago === 0) return t("time.today");
  if (ago === 1) return t("time.yesterday");
  const date = new Date(iso);
  if (ago > 1 && ago < 7) return formatter("weekday", { weekday: "long" }).format(date);
  if (date.getFullYear() === now.getFullYear()) return formatter("day", { weekday: "long", month: "long", day: "numeric" }).format(date);
  return formatter("dayYear", { year: "numeric", month: "long", day: "numeric" }).format(date);
}

/** The short form for a list row: a clock today, a weekday this week, else a date. */
export function shortTime(iso: string, now = new Date()): string {
  const ago = daysAgo(iso, now);
  if (ago <= 0) return clock(iso);
  if (ago === 1) return t("time.yesterday");
  const date = new Date(iso);
  if (ago < 7) return formatter("weekdayShort", { weekday: "short" }).format(date);
  if (date.getFullYear() === now.getFullYear()) return formatter("dayShort", { month: "short", day: "numeric" }).format(date);
  return formatter("dateShort", { year: "numeric", month: "numeric", day: "numeric" }).format(date);
}

/** `12 s`, `3 min`: how long something has been going on. */
export function elapsed(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return t("time.seconds", { n: seconds });
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return t("time.minutes", { n: minutes });
  return t("time.hours", { n: Math.floor(minutes / 60), m: minutes % 60 });
}

/** A list of names: `Ada, Lin and Nova`, `Ada、Lin和Nova`. */
export function nameList(names: readonly string[], most = 3): string {
  if (names.length <= most) return new Intl.ListFormat(getLocale(), { style: "long", type: "conjunction" }).format(names);
  const shown = names.slice(0, most - 1);
  return new Intl.ListFormat(getLocale(), { style: "long", type: "conjunction" }).format([...shown, tn("time.others", names.length - shown.length)]);
}
