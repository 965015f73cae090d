/** States, columns and words of tasks. Pure, but for the language. */
import type { Task } from "#/api/types";
import { isKey, t } from "#/i18n";

export const taskFilters = ["open", "mine", "ended", "all"] as const;
export type TaskFilter = (typeof taskFilters)[number];

export const openStates = ["pending", "accepted", "in_progress", "blocked", "waiting"] as const;
export const endedStates = ["complete", "failed", "cancelled", "rejected", "exhausted"] as const;

export const columns = ["waiting", "working", "parked", "ended"] as const;
export type Column = (typeof columns)[number];

export type Tone = "calm" | "busy" | "wait" | "good" | "bad";

export function ended(status: string): boolean {
  return (endedStates as readonly string[]).includes(status);
}

export function columnOf(status: string): Column {
  if (ended(status)) return "ended";
  if (status === "blocked" || status === "waiting") return "parked";
  return status === "pending" ? "waiting" : "working";
}

/** What a filter asks the server for. */
export function filterQuery(filter: TaskFilter): { statuses?: readonly string[]; mine?: boolean } {
  switch (filter) {
    case "open":
      return { statuses: openStates };
    case "mine":
      return { statuses: openStates, mine: true };
    case "ended":
      return { statuses: endedStates };
    case "all":
      return {};
  }
}

export function fits(filter: TaskFilter, task: Task): boolean {
  if (filter === "all") return true;
  if (filter === "ended") return ended(task.status);
  return !ended(task.status);
}

/** Done with nothing to show is not done, and lost is not failed. */
export function stateWords(status: string, endKind?: string | null): string {
  const end = `tasks.end.${endKind ?? ""}`;
  if (isKey(end)) return t(end);
  const key = `tasks.status.${status}`;
  return isKey(key) ? t(key) : status;
}

export function toneOf(status: string, endKind?: string | null): Tone {
  if (endKind === "empty") return "wait";
  switch (status) {
    case "complete":
      return "good";
    case "failed":
    case "exhausted":
    case "rejected":
      return "bad";
    case "blocked":
    case "waiting":
      return "wait";
    case "accepted":
    case "in_progress":
      return "busy";
    default:
      return "calm";
  }
}

/** A list with one task put in, replaced or taken out; `older` versions of what is held change nothing. */
export function withTask(list: readonly Task[], task: Task, filter: TaskFilter): Task[] {
  const held = list.find((x) => x.id === task.id);
  if (held && held.updatedAt > task.updatedAt) return [...list];
  const rest = list.filter((x) => x.id !== task.id);
  if (!fits(filter, task) || (filter === "mine" && !held)) return rest;
  return [task, ...rest].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0));
}

/** The task that a row of a room is the card of. */
export function cardOf(message: {
  messageType?: string | null;
  metadata?: Record<string, unknown> | undefined;
  content: string;
  taskSnapshot?: unknown;
}) {
  if (message.messageType !== "StatusUpdate") return null;
  const id = message.metadata?.["task_id"];
  if (typeof id !== "string") return null;
  let body: Record<string, unknown> = {};
  try {
    body = JSON.parse(message.content) as Record<string, unknown>;
  } catch {
    // A row without its words still has its task.
  }
  const snapshot = message.taskSnapshot as { status?: string; title?: string } | undefined;
  const text = (v: unknown) => (typeof v === "string" ? v : "");
  return {
    id,
    kind: text(body["lifecycle_type"]),
    title: text(message.metadata?.["task_title"]) || snapshot?.title || text(body["title"]),
    status: text(message.metadata?.["task_status"]) || snapshot?.status || text(body["status"]),
    who: text(body["assignee_name"]),
    summary: text(body["summary"]),
    endKind: text(body["end_kind"]) || null,
    failure: text((body["error"] as { message?: unknown } | undefined)?.message),
  };
}
