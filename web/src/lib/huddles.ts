/** What a side conversation says of itself: in its metadata, in the spellings of both contracts (desktop 5.1). Pure. */
import type { Conversation, Id, Timestamp } from "#/api/types";

export const huddleOutcomes = ["resolved", "agreed", "blocked", "deferred", "abandoned"] as const;
export type HuddleOutcome = (typeof huddleOutcomes)[number];

export interface Huddle {
  status: "open" | "resolved" | "abandoned";
  topic: string;
  goal: string;
  /** Empty while it is open. */
  outcome: HuddleOutcome | "";
  summary: string;
  sourceId: Id;
  /** The message that it hangs at; empty when it has none. */
  anchorId: Id;
  closedBy: Id;
  closedAt: Timestamp | "";
}

/** Null for a room that is no huddle. */
export function huddleOf(room: Conversation | undefined): Huddle | null {
  if (!room?.parentConversationId || room.type === "task") return null;
  const meta = room.metadata ?? {};
  const word = (...keys: string[]) => {
    for (const key of keys) if (typeof meta[key] === "string") return meta[key];
    return "";
  };
  const status = word("huddle_status", "thread_status", "huddleStatus");
  const outcome = word("huddle_outcome");
  return {
    status: status === "resolved" || status === "abandoned" ? status : "open",
    topic: word("huddle_topic", "thread_topic", "huddleTopic"),
    goal: word("huddle_goal", "thread_goal"),
    outcome: huddleOutcomes.find((o) => o === outcome) ?? "",
    summary: word("huddle_summary"),
    sourceId: room.parentConversationId,
    anchorId: word("source_message_id", "sourceMessageId"),
    closedBy: word("huddle_closed_by"),
    closedAt: word("huddle_closed_at"),
  };
}

/** Whether somebody has a seat in a room, and may write with it. */
export function seatOf(room: Conversation, who: Id): "none" | "observer" | "member" {
  const role = room.members?.find((m) => m.participantId === who)?.role;
  if (role === undefined && !room.members?.some((m) => m.participantId === who)) return "none";
  return role === "observer" ? "observer" : "member";
}
