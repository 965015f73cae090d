/** States, columns and words of tasks. Pure, but for the language. */
import type { Id, Task, TaskJoin } from "#/api/types";
import { isKey, t } from "#/i18n";
import { stateWords } from "#/lib/tasks";

export { stateWords };

export const taskFilters = ["open", "mine", "ended", "all"] as const;
export type TaskFilter = (typeof taskFilters)[number];

const openStates = ["pending", "accepted", "in_progress", "blocked", "waiting"] as const;
const endedStates = ["complete", "failed", "cancelled", "rejected", "exhausted"] as const;

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
export function filterQuery(filter: TaskFilter, who: Id | null = null): { statuses?: readonly string[]; mine?: boolean; who?: Id } {
  const of = who === null ? {} : { who };
  switch (filter) {
    case "open":
      return { statuses: openStates, ...of };
    case "mine":
      return { statuses: openStates, mine: true, ...of };
    case "ended":
      return { statuses: endedStates, ...of };
    case "all":
      return of;
  }
}

/** Whether a task belongs into a list; `who` keeps those that this participant does. */
export function fits(filter: TaskFilter, task: Task, who: Id | null = null): boolean {
  if (who !== null && !task.assignedTo.includes(who)) return false;
  if (filter === "all") return true;
  if (filter === "ended") return ended(task.status);
  return !ended(task.status);
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
export function withTask(list: readonly Task[], task: Task, filter: TaskFilter, who: Id | null = null): Task[] {
  const held = list.find((x) => x.id === task.id);
  if (held && held.updatedAt > task.updatedAt) return [...list];
  const rest = list.filter((x) => x.id !== task.id);
  if (!fits(filter, task, who) || (filter === "mine" && !held)) return rest;
  return [task, ...rest].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0));
}

/** Parts stand on the page of their whole: a list that has the whole leaves them out. */
export function wholes(tasks: readonly Task[]): Task[] {
  const held = new Set(tasks.map((x) => x.id));
  return tasks.filter((x) => !x.parentTaskId || !held.has(x.parentTaskId));
}

const queueRank: Record<Column, number> = { working: 0, waiting: 1, parked: 2, ended: 3 };

/** What runs, then what is ready, the more urgent and the older first, then what waits for people. */
export function inQueueOrder(tasks: readonly Task[]): Task[] {
  return [...tasks].sort(
    (a, b) =>
      queueRank[columnOf(a.status)] - queueRank[columnOf(b.status)] ||
      (b.priority ?? 0) - (a.priority ?? 0) ||
      (a.insertedAt < b.insertedAt ? -1 : a.insertedAt > b.insertedAt ? 1 : 0),
  );
}

/** Why a task ended without a result, by its code; what the agent or the platform said is told beside it. */
export function failureWords(failure: { code: string; message: string }): { title: string; detail: string } {
  const key = `tasks.failure.${failure.code}`;
  if (!isKey(key)) return { title: failure.message || t("tasks.failure.other"), detail: "" };
  return { title: t(key), detail: failure.message === "The task failed." ? "" : failure.message };
}

/** What the parts of a task wake it for; `parts` are the open and ended ones. */
export function joinWords(join: TaskJoin | null | undefined, parts: readonly Task[]): string {
  const done = parts.filter((p) => ended(p.status)).length;
  const progress = t("tasks.join.progress", { done, all: parts.length });
  if (!join || parts.length === 0) return parts.length > 0 ? progress : "";
  if (join.firedAt) return `${progress} · ${t("tasks.join.fired")}`;
  const need = join.mode === "any" ? 1 : join.mode === "count" ? (join.count ?? 1) : parts.length;
  const until = need >= parts.length ? t("tasks.join.all") : need === 1 ? t("tasks.join.any") : t("tasks.join.count", { n: need });
  return `${progress} · ${until}`;
}

/** On whose behalf, as that one or as somebody else reads it. */
export function requesterWords(task: Task, selfId: Id): string {
  if (!task.requester) return "";
  return task.requester.id === selfId ? t("tasks.forYou") : t("tasks.for", { name: task.requester.displayName });
}

/** The barrier for several who are asked: `need` of `all` results end the task; none of it is said when all are needed. */
export function joinOf(need: number, all: number): TaskJoin | undefined {
  if (all < 2 || need >= all) return undefined;
  return need <= 1 ? { mode: "any" } : { mode: "count", count: need };
}

type CardRow = { messageType?: string | null; metadata?: Record<string, unknown> | undefined; content: string; taskSnapshot?: unknown };

const text = (v: unknown) => (typeof v === "string" ? v : "");

function bodyOf(row: CardRow): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(row.content);
    return parsed && typeof parsed === "object" ? (parsed as Record<string, unknown>) : {};
  } catch {
    return {}; // A row without its words still has its task.
  }
}

/** The task that a row of a room is the card of. `latest` is the newest row of the same task: it knows how it ended or what it asks. */
export function cardOf(first: CardRow, latest: CardRow = first) {
  if (first.messageType !== "StatusUpdate") return null;
  const id = first.metadata?.["task_id"];
  if (typeof id !== "string") return null;
  const body = bodyOf(first);
  const last = latest === first ? body : bodyOf(latest);
  const snapshot = first.taskSnapshot as { status?: string; title?: string } | undefined;
  const status = text(first.metadata?.["task_status"]) || snapshot?.status || text(last["status"]);
  // What a run asked is no summary any more once it goes on.
  const asks = text(last["ask_id"]) !== "";
  const error = last["error"] as { code?: unknown; message?: unknown } | undefined;
  const failed = ended(status) && error ? { code: text(error.code), message: text(error.message) } : null;
  return {
    id,
    kind: text(last["lifecycle_type"]),
    title: text(first.metadata?.["task_title"]) || snapshot?.title || text(body["title"]),
    status,
    who: text(last["assignee_name"]) || text(body["assignee_name"]),
    summary: (asks && columnOf(status) !== "parked") || text(last["end_kind"]) === "empty" ? "" : text(last["summary"]),
    endKind: ended(status) ? text(last["end_kind"]) || null : null,
    failure: failed,
    seconds: ended(status) && typeof last["duration_seconds"] === "number" ? last["duration_seconds"] : null,
  };
}

export type Card = NonNullable<ReturnType<typeof cardOf>>;
