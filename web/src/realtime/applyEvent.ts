/**
 * Folds events of a conversation topic into a room, in `seq` order: a duplicate changes nothing, a gap is held back and reported, and whatever the
 * order of delivery the same history ends in the same room (the tests say so for random deliveries). Pure.
 */
import type { Change, Id, Message, MessageMetadata } from "#/api/types";
import { changeRow, putRow, type RoomState, react, removeRow, type SeqEvent } from "./room";

/** Events that carry no persisted change: their `seq`, if any, says nothing about what was applied. */
const ephemeral = new Set([
  "message_streaming",
  "typing_indicator",
  "typing",
  "presence_state",
  "presence_diff",
  "recent_messages",
  "resync",
  "task_progress",
  "receipt_changed",
]);

/** More events than this ahead of a gap are not kept: the gap is refetched anyway. */
const MAX_AHEAD = 500;

export function isPersisted(event: string): boolean {
  return !ephemeral.has(event);
}

/** `heal`: the caller must fetch the changes after `room.seq`. */
export interface Ingested {
  room: RoomState;
  heal: boolean;
}

/** Takes one event as it came from the socket. */
export function applyEvent(room: RoomState, event: string, payload: Record<string, unknown>): Ingested {
  if (!isPersisted(event)) return { room, heal: false };
  const seq = typeof payload["seq"] === "number" && payload["seq"] > 0 ? payload["seq"] : null;
  // A server without versions: applied as it comes.
  if (seq === null) return { room: reduce(room, event, payload), heal: false };
  const next = take(room, { event, payload, seq });
  return { room: next, heal: next.ahead.length > 0 && next.seq !== null };
}

/** Takes a page of `GET …/changes`, ascending. Returns `more` when the server has changes beyond it. */
export function applyChanges(room: RoomState, changes: readonly Change[], current: number): Ingested & { more: boolean } {
  let next = room;
  for (const c of changes) next = take(next, { event: c.event, payload: c.payload, seq: c.seq });
  const more = (next.seq ?? 0) < current && changes.length > 0;
  // Versions without a change row that a client sees: the server's word ends the gap.
  if (!more && changes.length === 0 && next.seq !== null && current > next.seq) next = drain({ ...next, seq: current, applied: [] });
  return { room: next, more, heal: next.ahead.length > 0 };
}

/** Sets the version that a snapshot or page was read at and applies what waited for it. */
export function setVersion(room: RoomState, seq: number): RoomState {
  return drain({ ...room, seq, applied: [] });
}

function take(room: RoomState, e: SeqEvent): RoomState {
  if (room.seq === null || e.seq > room.seq + 1) return hold(room, e);
  if (e.seq < room.seq) return room;
  const mark = markOf(e);
  if (e.seq === room.seq) {
    if (room.applied.includes(mark)) return room;
    return { ...reduce(room, e.event, e.payload), applied: [...room.applied, mark] };
  }
  return drain({ ...reduce(room, e.event, e.payload), seq: e.seq, applied: [mark] });
}

function hold(room: RoomState, e: SeqEvent): RoomState {
  const mark = markOf(e);
  if (room.ahead.some((x) => x.seq === e.seq && markOf(x) === mark)) return room;
  const ahead = [...room.ahead, e].sort((a, b) => a.seq - b.seq);
  return { ...room, ahead: ahead.slice(0, MAX_AHEAD) };
}

/** Applies held events that have become next. */
export function drain(room: RoomState): RoomState {
  let next = room;
  for (;;) {
    const [e, ...rest] = next.ahead;
    if (!e || next.seq === null || e.seq > next.seq + 1) return next;
    next = take({ ...next, ahead: rest }, e);
  }
}

/** What an event is about, for telling two events of one version apart. */
function markOf(e: SeqEvent): string {
  const p = e.payload;
  return [e.event, p["messageId"] ?? p["id"] ?? "", p["emoji"] ?? "", p["participantId"] ?? ""].join("|");
}

/** The change itself. Each is idempotent. Unknown events change no row: they only move the version. */
export function reduce(room: RoomState, event: string, payload: Record<string, unknown>): RoomState {
  switch (event) {
    case "new_message": {
      const message = payload as unknown as Message;
      if (typeof message.id !== "string" || message.threadOnly) return room;
      return landed(room, message);
    }
    case "message_updated": {
      const message = payload as unknown as Message;
      return typeof message.id === "string" && room.rows.has(message.id) ? putRow(room, message) : room;
    }
    case "message_deleted":
      return typeof payload["messageId"] === "string" ? removeRow(room, payload["messageId"]) : room;
    case "message_metadata_changed": {
      const metadata = (payload["metadata"] ?? {}) as MessageMetadata;
      return changeRow(
        room,
        payload["messageId"] as Id,
        (m) => ({ ...m, metadata }),
        (p) => ({ ...p, metadata }),
      );
    }
    case "reaction_added":
    case "reaction_removed": {
      const emoji = String(payload["emoji"] ?? "");
      const participantId = String(payload["participantId"] ?? "");
      const on = event === "reaction_added";
      return changeRow(
        room,
        payload["messageId"] as Id,
        (m) => react(m, emoji, participantId, on),
        (p) => ({ ...p, reactions: new Map(p.reactions).set(`${emoji}|${participantId}`, on) }),
      );
    }
    case "thread_updated":
      return changeRow(
        room,
        payload["rootId"] as Id,
        (m) => ({
          ...m,
          ...(typeof payload["replyCount"] === "number" ? { replyCount: payload["replyCount"] } : {}),
          ...(typeof payload["lastReplyAt"] === "string" ? { lastReplyAt: payload["lastReplyAt"] } : {}),
          ...(Array.isArray(payload["replySenderIds"]) ? { replySenderIds: payload["replySenderIds"] as Id[] } : {}),
        }),
        (p) => p,
      );
    default:
      return room;
  }
}

/** A message that is held keeps its newer metadata: the same id again is news only when the text differs (contract 3.4). */
function landed(room: RoomState, message: Message): RoomState {
  const held = room.rows.get(message.id);
  if (!held) return putRow(room, message);
  if (held.content === message.content) return room;
  return putRow(room, {
    ...held,
    content: message.content,
    ...(message.metadata ? { metadata: message.metadata } : {}),
    ...(message.fileAttachments ? { fileAttachments: message.fileAttachments } : {}),
  });
}
