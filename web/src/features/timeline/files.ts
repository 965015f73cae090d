import { getLocale } from "#/i18n";

/** `512 B`, `12 KB`, `3.4 MB`. */
export function fileSize(bytes: number): string {
  const n = (v: number) => new Intl.NumberFormat(getLocale(), { maximumFractionDigits: v < 10 ? 1 : 0 }).format(v);
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${n(bytes / 1024)} KB`;
  return `${n(bytes / 1024 / 1024)} MB`;
}

/** The words that go with a file; its name is on the link. */
export function fileCaption(content: string): string {
  try {
    const caption = (JSON.parse(content) as { caption?: unknown }).caption;
    return typeof caption === "string" ? caption : "";
  } catch {
    return "";
  }
}
