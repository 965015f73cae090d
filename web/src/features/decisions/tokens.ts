/** Numbers of tokens, as people type and read them. */
import { getLocale } from "#/i18n";

/** The most a day can have. */
export const MAX_TOKENS = 1_000_000_000_000;

/** The number in a text, with or without marks between its thousands; null for anything else. */
export function parseTokens(text: string): number | null {
  const typed = text.trim();
  if (!/^(?:\d+|\d{1,3}(?:([,.'’\s])\d{3})(?:\1\d{3})*)$/.test(typed)) return null;
  const n = Number(typed.replace(/\D/g, ""));
  return n >= 1 && n <= MAX_TOKENS ? n : null;
}

export function tokenWords(n: number): string {
  return new Intl.NumberFormat(getLocale()).format(n);
}
