/** The dock: one row per participant of a room. A stream beats an activity, an activity beats typing; the order is who was seen first. Pure. */
import type { AgentActivity, Conversation, Id, StreamPhase } from "#/api/types";
import type { PresenceState } from "./presence";
import type { Stream } from "./streams";
import type { Typist } from "./typing";

export interface ActivityRow {
  participantId: Id;
  name: string;
  kind: "agent" | "human";
  source: "stream" | "activity" | "typing";
  phase: StreamPhase | AgentActivity | "typing";
  /** The last step, such as the file being read. */
  detail: string;
  done: boolean;
  /** Null: it was already so when the page was opened. */
  startedAt: number | null;
}

export interface ActivityInput {
  conversationId: Id;
  selfId: Id;
  members: Conversation["members"];
  streams: readonly Stream[];
  presence: PresenceState;
  typists: readonly Typist[];
  /** Sender of the newest message: an agent that has just answered is not "working" any more. */
  lastSenderId: Id | null;
}

export function activityRows(input: ActivityInput): ActivityRow[] {
  const rows = new Map<Id, ActivityRow>();
  const nameOf = (id: Id) => input.members?.find((m) => m.participantId === id)?.participant?.displayName ?? "";
  for (const s of input.streams) {
    rows.set(s.senderId, {
      participantId: s.senderId,
      name: s.senderName || nameOf(s.senderId),
      kind: "agent",
      source: "stream",
      phase: s.phase,
      detail: s.steps[s.steps.length - 1] ?? "",
      done: s.status === "done",
      startedAt: s.startedAt,
    });
  }
  for (const [id, a] of input.presence.activities) {
    if (rows.has(id) || id === input.lastSenderId) continue;
    const member = input.members?.find((m) => m.participantId === id);
    const here = a.conversationIds.length ? a.conversationIds.includes(input.conversationId) : false;
    if (!member || !here) continue;
    rows.set(id, {
      participantId: id,
      name: nameOf(id),
      kind: "agent",
      source: "activity",
      phase: a.activity,
      detail: "",
      done: false,
      startedAt: a.since,
    });
  }
  for (const x of input.typists) {
    if (rows.has(x.participantId) || x.participantId === input.selfId) continue;
    rows.set(x.participantId, {
      participantId: x.participantId,
      name: x.name || nameOf(x.participantId),
      kind: x.kind,
      source: "typing",
      phase: "typing",
      detail: "",
      done: false,
      startedAt: x.since,
    });
  }
  return [...rows.values()].sort((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0) || (a.participantId < b.participantId ? -1 : 1));
}

export function sameRows(a: readonly ActivityRow[], b: readonly ActivityRow[]): boolean {
  return a.length === b.length && a.every((x, i) => JSON.stringify(x) === JSON.stringify(b[i]));
}
