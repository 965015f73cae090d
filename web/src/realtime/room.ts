/**
 * What is known of one room: its messages, normalised and in order, and how far its history has been followed. Pure: no socket, no clock, no React.
 *
 * The rule that keeps it honest: rows change by events in `seq` order and by nothing else. Pages and snapshots add rows that are not held; they
 * replace held rows only when they were read at a version at least as new as ours.
 */
import type { Id, Message, MessageMetadata } from "#/api/types";

export interface Patch {
  metadata?: MessageMetadata;
  /** `emoji|participant` → present or not. */
  reactions: ReadonlyMap<string, boolean>;
}

export interface RoomState {
  /** Last version applied in full; null until a snapshot or a page told one. */
  seq: number | null;
  /** What was already applied at exactly `seq`, so that a second delivery does nothing. */
  applied: readonly string[];
  /** Events that arrived ahead of a gap, by ascending seq. */
  ahead: readonly SeqEvent[];
  rows: ReadonlyMap<Id, Message>;
  /** Ids by time of writing, oldest first. */
  order: readonly Id[];
  /** Ids known to be deleted: a page read before the deletion must not bring them back. */
  gone: ReadonlySet<Id>;
  /** Changes of rows that are not loaded, kept until a page brings the row. */
  patches: ReadonlyMap<Id, Patch>;
  /** Whether older messages exist: unknown counts as yes. */
  start: "unknown" | "reached";
}

export interface SeqEvent {
  event: string;
  payload: Record<string, unknown>;
  seq: number;
}

export const emptyRoom: RoomState = {
  seq: null,
  applied: [],
  ahead: [],
  rows: new Map(),
  order: [],
  gone: new Set(),
  patches: new Map(),
  start: "unknown",
};

export function before(a: Message, b: Message): boolean {
  if (a.insertedAt !== b.insertedAt) return a.insertedAt < b.insertedAt;
  return a.id < b.id;
}

/** Rows that belong to the main timeline, oldest first. */
export function messagesOf(room: RoomState): Message[] {
  const out: Message[] = [];
  for (const id of room.order) {
    const row = room.rows.get(id);
    if (row && !row.threadOnly) out.push(row);
  }
  return out;
}

function withRows(room: RoomState, rows: ReadonlyMap<Id, Message>, order?: readonly Id[]): RoomState {
  return { ...room, rows, order: order ?? sorted(rows) };
}

function sorted(rows: ReadonlyMap<Id, Message>): Id[] {
  return [...rows.values()].sort((a, b) => (before(a, b) ? -1 : 1)).map((m) => m.id);
}

function insertInOrder(order: readonly Id[], rows: ReadonlyMap<Id, Message>, m: Message): Id[] {
  let at = order.length;
  while (at > 0) {
    const prev = rows.get(order[at - 1] ?? "");
    if (!prev || before(prev, m)) break;
    at--;
  }
  return [...order.slice(0, at), m.id, ...order.slice(at)];
}

/** Adds a row or replaces it. Deleted rows stay deleted. */
export function putRow(room: RoomState, message: Message): RoomState {
  if (room.gone.has(message.id)) return room;
  const held = room.rows.get(message.id);
  const patch = room.patches.get(message.id);
  const row = held || !patch ? message : applyPatch(message, patch);
  const rows = new Map(room.rows).set(row.id, row);
  const order = held && held.insertedAt === row.insertedAt ? room.order : held ? undefined : insertInOrder(room.order, room.rows, row);
  const next = withRows(room, rows, order);
  if (!patch) return next;
  const patches = new Map(room.patches);
  patches.delete(message.id);
  return { ...next, patches };
}

export function removeRow(room: RoomState, id: Id): RoomState {
  const gone = new Set(room.gone).add(id);
  if (!room.rows.has(id)) return { ...room, gone };
  const rows = new Map(room.rows);
  rows.delete(id);
  return { ...room, rows, gone, order: room.order.filter((x) => x !== id) };
}

/** Changes a held row; the change of a row that is not held waits for it. */
export function changeRow(room: RoomState, id: Id, change: (m: Message) => Message, patch: (p: Patch) => Patch): RoomState {
  const held = room.rows.get(id);
  if (held) return withRows(room, new Map(room.rows).set(id, change(held)), room.order);
  if (room.gone.has(id)) return room;
  const patches = new Map(room.patches).set(id, patch(room.patches.get(id) ?? { reactions: new Map() }));
  // Bounded: a room followed for days must not collect changes of history nobody scrolls to. The oldest is forgotten first.
  if (patches.size > 2000) patches.delete(patches.keys().next().value ?? "");
  return { ...room, patches };
}

export function applyPatch(message: Message, patch: Patch): Message {
  let next = patch.metadata ? { ...message, metadata: patch.metadata } : message;
  for (const [key, on] of patch.reactions) {
    const cut = key.lastIndexOf("|");
    next = react(next, key.slice(0, cut), key.slice(cut + 1), on);
  }
  return next;
}

export function react(message: Message, emoji: string, participantId: Id, on: boolean): Message {
  const list = message.reactions ?? [];
  const entry = list.find((r) => r.emoji === emoji);
  if (on) {
    if (entry?.participantIds.includes(participantId)) return message;
    const reactions = entry
      ? list.map((r) => (r === entry ? { ...r, participantIds: [...r.participantIds, participantId] } : r))
      : [...list, { emoji, participantIds: [participantId] }];
    return { ...message, reactions };
  }
  if (!entry?.participantIds.includes(participantId)) return message;
  const participantIds = entry.participantIds.filter((p) => p !== participantId);
  const reactions = participantIds.length ? list.map((r) => (r === entry ? { ...r, participantIds } : r)) : list.filter((r) => r !== entry);
  return { ...message, reactions };
}

/** Adds what a page brought (any order). Held rows stay as they are: a page has no version. `pageSize`: a shorter page reached the start. */
export function mergePage(room: RoomState, messages: readonly Message[], pageSize?: number): RoomState {
  let next = room;
  for (const m of messages) if (!next.rows.has(m.id)) next = putRow(next, m);
  if (reachesStart(next) || (pageSize !== undefined && messages.length < pageSize)) next = { ...next, start: "reached" };
  return next;
}

/**
 * Merges the window that the server pushes after a join: contiguous, newest, complete at version `seq`. Rows held inside its span and missing from it
 * were deleted. Returns whether changes between our version and the window's must be fetched for the rows outside it.
 */
export function mergeSnapshot(room: RoomState, messages: readonly Message[], seq: number | null): { room: RoomState; heal: boolean } {
  const known = room.seq;
  if (seq !== null && known !== null && seq < known) return { room: mergePage(room, messages), heal: false };

  const window = messages.filter((m) => !m.threadOnly).sort((a, b) => (before(a, b) ? -1 : 1));
  const ids = new Set(window.map((m) => m.id));
  const first = window[0];
  let next = room;
  // An empty window is an empty room.
  for (const id of room.order) {
    const held = room.rows.get(id);
    if (held && !held.threadOnly && !ids.has(id) && (!first || before(first, held))) next = removeRow(next, id);
  }
  const overlaps = first === undefined || room.order.some((id) => ids.has(id)) || room.order.length === 0;
  const chained = seq === null || known === null ? overlaps : true;
  if (!chained) {
    // Nothing ties the window to what is held, and no versions to bridge them: what is between is unknown, so start again.
    next = { ...next, rows: new Map(), order: [], start: "unknown" };
  }
  for (const m of window) next = putRow(next, m);
  if (reachesStart(next) || first === undefined) next = { ...next, start: "reached" };
  if (seq === null) return { room: next, heal: false };
  if (known === null) return { room: { ...next, seq, applied: [] }, heal: false };
  return { room: next, heal: seq > known };
}

function reachesStart(room: RoomState): boolean {
  const oldest = room.rows.get(room.order[0] ?? "");
  return oldest?.messageSeq === 1;
}

/** After `reset`: nothing held can be trusted. The version is what the server said before the page was read. */
export function restart(seq: number | null, messages: readonly Message[], pageSize: number, ahead: readonly SeqEvent[]): RoomState {
  return mergePage({ ...emptyRoom, seq, ahead }, messages, pageSize);
}
