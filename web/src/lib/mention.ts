/**
 * Mentions as the server reads them (decision 10): the longest match of `@[Name]` or `@Name` against the known names, letters compared without
 * case, at Unicode word boundaries, never inside code. Both the timeline and the composer use these functions, so that what is highlighted while
 * writing is what will be a mention when it is sent.
 */

export interface Mentionable {
  id: string;
  displayName: string;
}

export interface MentionSpan<T extends Mentionable = Mentionable> {
  start: number;
  end: number;
  target: T;
}

const wordChar = /[\p{L}\p{N}\p{M}_]/u;

function fold(text: string): string {
  return text.normalize("NFC").toLocaleLowerCase();
}

function charBefore(text: string, at: number): string {
  if (at <= 0) return "";
  const low = text.charCodeAt(at - 1);
  return low >= 0xdc00 && low <= 0xdfff ? text.slice(at - 2, at) : text.slice(at - 1, at);
}

function charAt(text: string, at: number): string {
  const code = text.codePointAt(at);
  return code === undefined ? "" : String.fromCodePoint(code);
}

/**
 * True when a name that ends before `at` may end there. Scripts written without spaces (汉字, かな) have no boundary to look for: there the end
 * of the name is boundary enough.
 */
function endsWord(text: string, at: number): boolean {
  const next = charAt(text, at);
  if (!next || !wordChar.test(next)) return true;
  const spaceless = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;
  return spaceless.test(next) || spaceless.test(charBefore(text, at));
}

/** The mentions in plain text (no code inside), in order, not overlapping. */
export function findMentions<T extends Mentionable>(raw: string, people: readonly T[]): MentionSpan<T>[] {
  if (people.length === 0) return [];
  // Input methods write a full-width ＠; it has the same length.
  const text = raw.replaceAll("＠", "@");
  if (!text.includes("@")) return [];
  const byLength = [...people].filter((p) => p.displayName).sort((a, b) => b.displayName.length - a.displayName.length);
  const spans: MentionSpan<T>[] = [];
  for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
    if (wordChar.test(charBefore(text, at)) && !/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(charBefore(text, at)))
      continue;
    const span = matchAt(text, at, byLength);
    if (!span) continue;
    spans.push(span);
    at = span.end - 1;
  }
  return spans;
}

function matchAt<T extends Mentionable>(text: string, at: number, byLength: readonly T[]): MentionSpan<T> | null {
  if (text[at + 1] === "[") {
    const close = text.indexOf("]", at);
    if (close < 0) return null;
    const name = fold(text.slice(at + 2, close).trim());
    const target = byLength.find((p) => fold(p.displayName) === name);
    return target ? { start: at, end: close + 1, target } : null;
  }
  for (const target of byLength) {
    const end = at + 1 + target.displayName.length;
    if (fold(text.slice(at + 1, end)) === fold(target.displayName) && endsWord(text, end)) return { start: at, end, target };
  }
  return null;
}

/** Where inline and fenced code lies in Markdown text, as [start, end) pairs: mentions there are none. */
export function codeSpans(text: string): [number, number][] {
  const spans: [number, number][] = [];
  const fence = /^[ \t]{0,3}(`{3,}|~{3,})[^\n]*\n[\s\S]*?(?:^[ \t]{0,3}\1[`~]*[ \t]*$|(?![\s\S]))/gm;
  for (const m of text.matchAll(fence)) spans.push([m.index, m.index + m[0].length]);
  const inline = /(?<!`)(`+)(?!`)([\s\S]*?[^`])\1(?!`)/g;
  for (const m of text.matchAll(inline)) {
    if (!spans.some(([a, b]) => m.index >= a && m.index < b)) spans.push([m.index, m.index + m[0].length]);
  }
  return spans.sort((a, b) => a[0] - b[0]);
}

/** The mentions of a draft or message, code left out. */
export function findMentionsOutsideCode<T extends Mentionable>(text: string, people: readonly T[]): MentionSpan<T>[] {
  const code = codeSpans(text);
  return findMentions(text, people).filter((s) => !code.some(([a, b]) => s.start >= a && s.start < b));
}

/** What is sent: every recognised `@Name` in the unmistakable form `@[Name]`. */
export function encodeMentions(text: string, people: readonly Mentionable[]): string {
  let out = "";
  let from = 0;
  for (const span of findMentionsOutsideCode(text, people)) {
    out += `${text.slice(from, span.start)}@[${span.target.displayName}]`;
    from = span.end;
  }
  return out + text.slice(from);
}

/** What a reader sees instead of `@[Name]`, for previews and copies in plain text. */
export function plainMentions(text: string): string {
  return text.replace(/@\[([^\]\n]{1,100})\]/gu, "@$1");
}

export interface MentionQuery {
  /** Index of the `@`. */
  start: number;
  /** What was typed after it; may contain spaces and any script. */
  query: string;
}

/** The mention that is being typed at the caret, or null. An `@` counts at the start, after a space, or after punctuation; it lasts to the caret. */
export function mentionQueryAt(text: string, caret: number): MentionQuery | null {
  const before = text.slice(0, caret).replaceAll("＠", "@");
  const start = before.lastIndexOf("@");
  if (start < 0) return null;
  const prev = charBefore(before, start);
  if (prev && wordChar.test(prev) && !/[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(prev)) return null;
  const raw = before.slice(start + 1);
  const query = raw.startsWith("[") ? raw.slice(1) : raw;
  if (query.length > 40 || /[\n\]@]/.test(query) || /\s{2}|^\s/u.test(query)) return null;
  if (codeSpans(text).some(([a, b]) => start >= a && start < b)) return null;
  return { start, query };
}

/** How well a name answers a query: 0 whole prefix, 1 a later word's prefix, 2 inside, -1 not at all. */
export function nameRank(name: string, query: string): number {
  const n = fold(name);
  const q = fold(query);
  if (!q || n.startsWith(q)) return 0;
  if (n.split(/[\s\-_.·]+/u).some((word) => word.startsWith(q))) return 1;
  return n.includes(q) ? 2 : -1;
}
