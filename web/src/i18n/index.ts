// The one catalogue of words. Areas live in files of their own (en/rooms.ts, zh-CN/rooms.ts, …); a key that is
// missing in one language does not compile. Plurals: give `key_one` and `key_other` and ask for the stem with
// `tn('key', n)`. Placeholders are `{name}`.
import { useSyncExternalStore } from "react";
import { en } from "./en";
import { zhCN } from "./zh-CN";

export type Locale = "en" | "zh-CN";
export type Key = keyof typeof en;
export type PluralKey = Key extends infer K ? (K extends `${infer Stem}_other` ? Stem : never) : never;
export type Params = Record<string, string | number>;

export const locales: readonly Locale[] = ["en", "zh-CN"];
export const localeNames: Record<Locale, string> = { en: "English", "zh-CN": "简体中文" };

const catalogues: Record<Locale, Record<Key, string>> = { en, "zh-CN": zhCN };
const storageKey = "agntchat.locale";
const listeners = new Set<() => void>();

function detect(): Locale {
  const stored = readStored();
  if (stored) return stored;
  const wanted = typeof navigator === "undefined" ? "en" : (navigator.languages?.[0] ?? navigator.language);
  return wanted?.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
}

function readStored(): Locale | null {
  try {
    const value = localStorage.getItem(storageKey);
    return locales.find((l) => l === value) ?? null;
  } catch {
    return null;
  }
}

let current: Locale = detect();
reflect();

function reflect() {
  if (typeof document !== "undefined") document.documentElement.lang = current;
}

export function getLocale(): Locale {
  return current;
}

/** Switches the language at once, everywhere, and remembers it on this device. */
export function setLocale(locale: Locale): void {
  if (locale === current) return;
  current = locale;
  try {
    localStorage.setItem(storageKey, locale);
  } catch {
    // Blocked storage costs only the memory of the choice.
  }
  reflect();
  for (const listener of listeners) listener();
}

function fill(text: string, params?: Params): string {
  if (!params) return text;
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = params[name];
    return value === undefined ? whole : String(value);
  });
}

/** The words for a key in the current language. In components use `useT`, which follows a language switch. */
export function t(key: Key, params?: Params): string {
  return fill(catalogues[current][key], params);
}

/** The words for a count; `{count}` is filled in, formatted for the language. */
export function tn(key: PluralKey, count: number, params?: Params): string {
  const rule = new Intl.PluralRules(current).select(count);
  const table = catalogues[current] as Record<string, string>;
  const text = table[`${key}_${rule}`] ?? table[`${key}_other`] ?? key;
  return fill(text, { count: new Intl.NumberFormat(current).format(count), ...params });
}

/** True when the catalogue knows the key: for words chosen by a code that the server sends. */
export function isKey(key: string): key is Key {
  return Object.hasOwn(catalogues.en, key);
}

export function useLocale(): Locale {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    getLocale,
    getLocale,
  );
}

/** `t`, subscribed to the language. */
export function useT(): typeof t {
  useLocale();
  return t;
}
