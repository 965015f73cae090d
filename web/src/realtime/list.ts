/** The list of rooms with unread numbers and mention marks (contract desktop.md 3.5, 3.8). Pure. */
import type { Conversation, Id, JsonMap, Member, Message } from "#/api/types";

export interface Entry {
  room: Conversation;
  unread: number;
  mentioned: boolean;
  /** `messageSeq` up to which messages are in `unread` already: a late event must not count twice. */
  countedTo: number;
  /** What was counted since the last reading, for servers without `messageSeq`: turn groups and message ids. */
  counted: ReadonlySet<string>;
}

export type ListState = ReadonlyMap<Id, Entry>;
export const noRooms: ListState = new Map();

/** True for rooms of the sidebar: no huddles, no work rooms. */
function isListed(room: Conversation): boolean {
  return !room.parentConversationId && room.type !== "task" && room.metadata?.["pulse_conversation"] !== true;
}

function entryOf(room: Conversation): Entry {
  const unread = room.unreadCount ?? 0;
  return { room, unread, mentioned: (room.mentionCount ?? 0) > 0, countedTo: room.lastMessage?.messageSeq ?? 0, counted: new Set() };
}

/**
 * Replaces the list by what the server says, with three exceptions, each newer than the answer: a newest message that the answer does not have yet, rooms
 * that came while it was being read (not in `before`), and rooms that are not of the sidebar and so never in the answer.
 */
export function loadRooms(state: ListState, rooms: readonly Conversation[], before: ListState = state): ListState {
  const next = new Map<Id, Entry>();
  for (const [id, e] of state) if (!before.has(id) || !isListed(e.room)) next.set(id, e);
  for (const room of rooms) {
    const held = state.get(room.id);
    const ahead = held && newer(held.room.lastMessage, room.lastMessage);
    next.set(
      room.id,
      ahead
        ? { ...held, room: { ...room, lastMessage: held.room.lastMessage ?? null, updatedAt: later(held.room.updatedAt, room.updatedAt) } }
        : entryOf(room),
    );
  }
  return next;
}

export function setUnread(state: ListState, counts: Readonly<Record<Id, number>>): ListState {
  const next = new Map(state);
  for (const [id, e] of state) {
    const unread = counts[id] ?? 0;
    if (unread !== e.unread) next.set(id, { ...e, unread, mentioned: unread > 0 && e.mentioned });
  }
  return next;
}

export function putRoom(state: ListState, room: Conversation): ListState {
  const held = state.get(room.id);
  if (!held) return new Map(state).set(room.id, entryOf(room));
  const lastMessage = newer(held.room.lastMessage, room.lastMessage) ? held.room.lastMessage : (room.lastMessage ?? held.room.lastMessage ?? null);
  return new Map(state).set(room.id, {
    ...held,
    room: { ...held.room, ...room, lastMessage: lastMessage ?? null, updatedAt: later(held.room.updatedAt, room.updatedAt) },
  });
}

export function dropRoom(state: ListState, id: Id): ListState {
  if (!state.has(id)) return state;
  const next = new Map(state);
  next.delete(id);
  return next;
}

export interface Arrival {
  message: Message;
  category: string | null;
  selfId: Id;
  /** The room is open and looked at: it is read as it comes. */
  watched: boolean;
}

/** A message arrived in a listed room. */
export function arrived(state: ListState, id: Id, a: Arrival): ListState {
  const e = state.get(id);
  if (!e) return state;
  const { message } = a;
  const fresh = !newer(e.room.lastMessage, message);
  const room = fresh ? { ...e.room, lastMessage: message, updatedAt: later(e.room.updatedAt, message.insertedAt) } : e.room;
  const own = message.senderId === a.selfId;
  const seq = message.messageSeq ?? 0;
  const group = message.turnGroupId || message.id;
  const known = (seq > 0 && seq <= e.countedTo) || e.counted.has(message.id);
  const marks = (...keys: string[]) => new Set([...e.counted, ...keys]);
  const countedTo = Math.max(e.countedTo, seq);
  // Own words, from whatever device, are read: so is everything before them.
  if (own)
    return put(state, id, {
      room,
      unread: known ? e.unread : 0,
      mentioned: known ? e.mentioned : false,
      countedTo,
      counted: known ? e.counted : new Set([message.id]),
    });
  if (known) return put(state, id, { ...e, room });
  if (a.watched) return put(state, id, { ...e, room, countedTo, counted: marks(message.id, group) });
  const unread = e.counted.has(group) ? e.unread : e.unread + 1;
  return put(state, id, { room, unread, mentioned: e.mentioned || a.category === "mentions", countedTo, counted: marks(message.id, group) });
}

/** Everything in the room is read. */
export function readRoom(state: ListState, id: Id): ListState {
  const e = state.get(id);
  if (!e) return state;
  const lastReadSeq = e.room.lastMessage?.messageSeq ?? e.room.lastReadSeq;
  const room = lastReadSeq === undefined || lastReadSeq === e.room.lastReadSeq ? e.room : { ...e.room, lastReadSeq };
  if (e.unread === 0 && !e.mentioned && room === e.room) return state;
  return put(state, id, { ...e, room, unread: 0, mentioned: false });
}

export function changeRoom(state: ListState, id: Id, change: Partial<Conversation>): ListState {
  const e = state.get(id);
  return e ? put(state, id, { ...e, room: { ...e.room, ...change } }) : state;
}

/** Title, picture, metadata and membership as they change, from either topic. Another event gives the same state back. */
export function foldRoomEvent(state: ListState, id: Id, event: string, payload: JsonMap): ListState {
  switch (event) {
    case "conversation_title_changed":
      return changeRoom(state, id, { title: (payload["title"] as string | null) ?? null });
    case "conversation_avatar_changed":
      return changeRoom(state, id, { avatarUrl: (payload["avatarUrl"] as string | null) ?? null });
    case "conversation_metadata_changed":
      return changeRoom(state, id, { metadata: (payload["metadata"] as JsonMap) ?? {} });
    case "member_added":
    case "member_removed": {
      const member = payload["member"] as Member | undefined;
      const e = state.get(id);
      if (!member?.participantId || !e) return state;
      const rest = (e.room.members ?? []).filter((m) => m.participantId !== member.participantId);
      return changeRoom(state, id, { members: event === "member_added" ? [...rest, member] : rest });
    }
    default:
      return state;
  }
}

/** Sidebar order: pinned first, then what was active last. */
export function orderedRooms(state: ListState): Conversation[] {
  return [...state.values()]
    .map((e) => e.room)
    .filter(isListed)
    .sort(
      (a, b) =>
        Number(b.pinned ?? false) - Number(a.pinned ?? false) ||
        (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : a.id < b.id ? -1 : 1),
    );
}

export function unreadTotal(state: ListState): number {
  let sum = 0;
  for (const e of state.values()) if (isListed(e.room)) sum += e.unread;
  return sum;
}

function put(state: ListState, id: Id, e: Entry): ListState {
  return new Map(state).set(id, e);
}

function newer(a: Message | null | undefined, b: Message | null | undefined): boolean {
  if (!a) return false;
  return !b || a.insertedAt > b.insertedAt;
}

function later(a: string, b: string): string {
  return a > b ? a : b;
}
