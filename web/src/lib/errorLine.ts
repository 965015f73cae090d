import { errorWords } from "./errorText";

/** A failed call on one line: what happened, then what to do. */
export function errorLine(err: unknown): string {
  const { title, hint } = errorWords(err);
  return [title, hint]
    .filter(Boolean)
    .join(". ")
    .replace(/([.。])\. /, "$1 ");
}
