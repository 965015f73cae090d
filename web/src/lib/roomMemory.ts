import type { Key } from "#/i18n";

/** What a room remembers, taken apart for reading: the document is anybody's JSON object (contract 5.12), so nothing is expected of it. */
export interface MemoryPart {
  key: string;
  /** Paragraphs or points. */
  lines: string[];
  list: boolean;
  /** It can be written as text, line by line. */
  editable: boolean;
}

/** What machines keep for themselves. */
const hidden = new Set(["participantsContext", "updatedAt", "updatedBy"]);
const order = ["summary", "currentState", "openQuestions", "keyDecisions", "completedWork", "importantContext"];

const isObject = (v: unknown): v is Record<string, unknown> => typeof v === "object" && v !== null && !Array.isArray(v);

/** One value as a line: a decision with its reason, else its words, else JSON. */
function line(v: unknown): string {
  if (typeof v === "string") return v;
  if (isObject(v) && typeof v["decision"] === "string") {
    const why = v["context"];
    return typeof why === "string" && why ? `${v["decision"]} (${why})` : v["decision"];
  }
  return JSON.stringify(v) ?? "";
}

function part(key: string, v: unknown): MemoryPart {
  if (typeof v === "string") return { key, lines: [v], list: false, editable: true };
  if (Array.isArray(v)) return { key, lines: v.map(line), list: true, editable: v.every((x) => typeof x === "string" && !x.includes("\n")) };
  if (isObject(v)) return { key, lines: Object.entries(v).map(([k, x]) => `${k}: ${line(x)}`), list: true, editable: false };
  return { key, lines: [line(v)], list: false, editable: false };
}

/** The parts that say something, those with a known meaning first. */
export function memoryParts(memory: Record<string, unknown>): MemoryPart[] {
  const rank = (key: string) => (order.includes(key) ? order.indexOf(key) : order.length);
  return Object.entries(memory)
    .filter(([key]) => !hidden.has(key))
    .map(([key, v]) => part(key, v))
    .filter((p) => p.lines.some((l) => l.trim() !== ""))
    .sort((a, b) => rank(a.key) - rank(b.key) || a.key.localeCompare(b.key));
}

/** What is written for a part: a text, or one entry a line where a list was. */
export function memoryValue(text: string, list: boolean): string | string[] {
  if (!list) return text.trim();
  return text
    .split("\n")
    .map((l) => l.trim())
    .filter(Boolean);
}

const known: Record<string, Key> = {
  summary: "memory.part.summary",
  currentState: "memory.part.currentState",
  openQuestions: "memory.part.openQuestions",
  keyDecisions: "memory.part.keyDecisions",
  completedWork: "memory.part.completedWork",
  importantContext: "memory.part.importantContext",
};

/** The word for a part, if its meaning is one that we know. */
export function partKey(key: string): Key | undefined {
  return Object.hasOwn(known, key) ? known[key] : undefined;
}
