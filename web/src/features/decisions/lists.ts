/** Pure changes of the list of what waits, and what of a request is shown. */
import type { ApprovalGrant, Id, PermissionRequest } from "#/api/types";

/** The list with a new or changed request, what ends first on top. Nothing is made of a list that was never read. */
export function withRequest(list: readonly PermissionRequest[] | undefined, request: PermissionRequest): PermissionRequest[] | undefined {
  if (!list || typeof request.id !== "string") return list ? [...list] : undefined;
  const rest = list.filter((r) => r.id !== request.id);
  if (request.status !== "pending") return rest;
  return [...rest, request].sort((a, b) => (a.expiresAt < b.expiresAt ? -1 : a.expiresAt > b.expiresAt ? 1 : a.id < b.id ? -1 : 1));
}

export function withoutRequest(list: readonly PermissionRequest[] | undefined, id: Id): PermissionRequest[] | undefined {
  return list?.filter((r) => r.id !== id);
}

/** What will run, for eyes: the one text that matters of a known tool first, and everything that is left as JSON. Nothing is left out. */
export interface Shown {
  main: string;
  rest: string;
}

const mainKeys: Record<string, string> = { Bash: "command", shell: "command", exec_command: "command", WebFetch: "url", Write: "content" };

export function shownInput(tool: string, input: Record<string, unknown> | null | undefined): Shown {
  const all = input ?? {};
  const key = mainKeys[tool];
  const main = key ? all[key] : undefined;
  if (key === undefined || typeof main !== "string") return { main: pretty(all), rest: "" };
  const rest = Object.fromEntries(Object.entries(all).filter(([k]) => k !== key));
  return { main, rest: Object.keys(rest).length > 0 ? pretty(rest) : "" };
}

/** As `shownInput`, but a number that JavaScript cannot hold is shown as the server wrote it. */
export function shownRequest(r: Pick<PermissionRequest, "toolName" | "toolInput" | "action">): Shown {
  if (r.action && /[:,[]-?\d{16,}/.test(r.action)) return { main: r.action, rest: "" };
  return shownInput(r.toolName, r.toolInput);
}

/** Such a number would be changed by an editor of ours. */
export function mayEdit(r: Pick<PermissionRequest, "durable" | "action">): boolean {
  return r.durable === true && !/[:,[]-?\d{16,}/.test(r.action ?? "");
}

export function pretty(value: unknown): string {
  return JSON.stringify(value, null, 2);
}

/** What an editor shows and takes: the command itself where there is nothing else, else the whole input as JSON. */
export function editable(tool: string, input: Record<string, unknown> | null | undefined): { text: string; plain: boolean } {
  const shown = shownInput(tool, input);
  return mainKeys[tool] && shown.rest === "" && shown.main !== "" ? { text: shown.main, plain: true } : { text: pretty(input ?? {}), plain: false };
}

/** The input that an edited text means; null when it is none. */
export function parseEdited(tool: string, text: string, plain: boolean): Record<string, unknown> | null {
  const key = mainKeys[tool];
  if (plain && key) return text.trim() === "" ? null : { [key]: text };
  try {
    const value: unknown = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/**
 * Text with what the eye does not see made visible: control, direction and format marks, spaces that are no space, fillers and
 * halves of characters can make a command look like another. Lines, tabs and the space stay.
 */
export function visible(text: string): string {
  return text.replace(/(?![\t\n ])[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/gu, (c) => {
    const code = c.codePointAt(0) ?? 0;
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

/** The first of a text for one line of a list: all blanks are one space, and what the eye does not see is visible. */
export function oneLine(text: string): string {
  const line = visible(
    text
      .slice(0, 2000)
      .replace(/[ \t\r\n]+/g, " ")
      .trim(),
  );
  return line.length > 300 ? `${line.slice(0, 300)}…` : line;
}

/** What would run, on one line: of a file its path before its text. */
export function requestLine(r: Pick<PermissionRequest, "toolName" | "toolInput" | "action">): string {
  const path = (r.toolInput as Record<string, unknown> | undefined)?.["file_path"];
  const { main } = shownRequest(r);
  return oneLine(typeof path === "string" && mainKeys[r.toolName] === "content" ? `${path} — ${main}` : main);
}

/** What a request came to: what ran instead where it was changed. */
export function decidedLine(r: Pick<PermissionRequest, "toolName" | "toolInput" | "action" | "editedInput">): string {
  return r.editedInput ? requestLine({ toolName: r.toolName, toolInput: r.editedInput }) : requestLine(r);
}

export interface DiffLine {
  kind: "same" | "gone" | "new";
  text: string;
}

const DIFF_MAX = 400;

/** Lines that went and came, in order (longest common subsequence); beyond 400 lines all old ones, then all new ones. */
export function diffLines(before: string, after: string): DiffLine[] {
  const a = before.split("\n");
  const b = after.split("\n");
  if (a.length > DIFF_MAX || b.length > DIFF_MAX) {
    return [...a.map((text) => ({ kind: "gone" as const, text })), ...b.map((text) => ({ kind: "new" as const, text }))];
  }
  const at = (i: number, j: number) => i * (b.length + 1) + j;
  const length = new Int32Array((a.length + 1) * (b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      length[at(i, j)] = a[i] === b[j] ? (length[at(i + 1, j + 1)] ?? 0) + 1 : Math.max(length[at(i + 1, j)] ?? 0, length[at(i, j + 1)] ?? 0);
  const out: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    const [x, y] = [a[i], b[j]];
    if (x !== undefined && x === y) {
      out.push({ kind: "same", text: x });
      i++;
      j++;
    } else if (x !== undefined && (y === undefined || (length[at(i + 1, j)] ?? 0) >= (length[at(i, j + 1)] ?? 0))) {
      out.push({ kind: "gone", text: x });
      i++;
    } else if (y !== undefined) {
      out.push({ kind: "new", text: y });
      j++;
    }
  }
  return out;
}

/** The id that comes after or before one in a list; the first when there is none. */
export function step(ids: readonly Id[], current: Id | null, by: 1 | -1): Id | null {
  if (ids.length === 0) return null;
  const at = current === null ? -1 : ids.indexOf(current);
  if (at < 0) return ids[0] ?? null;
  return ids[Math.min(ids.length - 1, Math.max(0, at + by))] ?? null;
}

/** What is in front when `gone` has left the list: what came after it before, else the last that is left. */
export function heir(before: readonly Id[], now: readonly Id[], gone: Id | null): Id | null {
  if (gone !== null && now.includes(gone)) return gone;
  const at = gone === null ? -1 : before.indexOf(gone);
  const after = at < 0 ? now[0] : before.slice(at + 1).find((id) => now.includes(id));
  return after ?? now[now.length - 1] ?? null;
}

/** What a grant of one exact call allows, on one line; raw where only its beginning is known. */
export function grantedLine(g: Pick<ApprovalGrant, "toolName" | "action" | "actionCut">): string {
  if (!g.action) return "";
  if (g.actionCut) return oneLine(g.action);
  const { input } = JSON.parse(g.action) as { input: Record<string, unknown> };
  return requestLine({ toolName: g.toolName, toolInput: input, action: g.action });
}
