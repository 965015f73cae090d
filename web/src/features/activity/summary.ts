/** What the one line of the dock says. Pure. */
import { isKey, t, tn } from "#/i18n";

export interface ActivityRow {
  participantId: string;
  name: string;
  kind: "agent" | "human";
  source: "stream" | "activity" | "typing";
  phase: string;
  detail?: string | null | undefined;
  done?: boolean | undefined;
  /** Milliseconds; null when it is not known. */
  startedAt: number | null;
}

function phaseWord(row: ActivityRow): string {
  if (row.done) return t("activity.done");
  if (row.kind === "human" || row.source === "typing") return t("activity.typing");
  const key = `activity.${row.phase}`;
  return isKey(key) ? t(key) : t("activity.working");
}

/** One participant in words: a step that is known says more than the phase. */
export function rowText(row: ActivityRow): string {
  if (row.detail && !row.done && row.phase !== "writing") return t("activity.oneDetail", { name: row.name, detail: row.detail });
  if (row.done) return t("activity.oneDetail", { name: row.name, detail: t("activity.done") });
  return t("activity.one", { name: row.name, what: phaseWord(row) });
}

/** Queued and waiting are shown still; everything else moves. */
export function isMoving(row: ActivityRow): boolean {
  return !row.done && row.phase !== "queued" && row.phase !== "waiting";
}

export function canStop(row: ActivityRow): boolean {
  return row.kind === "agent" && !row.done && row.source !== "typing";
}

export function summary(rows: readonly ActivityRow[]): string {
  const [only] = rows;
  if (rows.length === 1 && only) return rowText(only);
  const agents = rows.filter((r) => r.kind === "agent" && !r.done).length;
  const people = rows.filter((r) => r.kind === "human").length;
  const done = rows.filter((r) => r.done).length;
  const parts: string[] = [];
  if (agents) parts.push(tn("activity.working", agents));
  if (people) parts.push(tn("activity.typing", people));
  if (!agents && !people && done) parts.push(t("activity.done"));
  return parts.join(" · ");
}
