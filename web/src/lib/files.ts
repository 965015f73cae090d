import { getLocale } from "#/i18n";

/** `512 B`, `12 KB`, `3.4 MB`. */
export function fileSize(bytes: number): string {
  const n = (v: number) => new Intl.NumberFormat(getLocale(), { maximumFractionDigits: v < 10 ? 1 : 0 }).format(v);
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${n(bytes / 1024)} KB`;
  return `${n(bytes / 1024 / 1024)} MB`;
}

const pictures = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif"]);

/** Pictures that may be drawn where they are: no SVG, which is a program, and no kind that a browser guesses at. */
export function isPicture(contentType: string | undefined): boolean {
  return pictures.has((contentType ?? "").split(";")[0]?.trim().toLowerCase() ?? "");
}

/** A short word for the kind of a file: its ending, else what its type ends in. */
export function fileKind(filename: string | undefined, contentType: string | undefined): string {
  const ending = /\.([a-z0-9]{1,6})$/i.exec(filename ?? "")?.[1];
  const word = ending ?? (contentType ?? "").split(";")[0]?.split("/")[1] ?? "";
  return word === "octet-stream" ? "" : word.slice(0, 8).toUpperCase();
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
