/** From messages and running streams to the rows of a timeline: day and unread dividers, blocks of one author, notices. Pure. */

import type { Message } from "#/api/types";
import { dayKey } from "#/lib/format";
import { isError, isNotice, typeOf } from "#/lib/notices";

/** A file of an unsent message, as the outbox keeps it. */
export interface LocalFile {
  key: string;
  filename: string;
  contentType: string;
  sizeBytes: number;
  storageKey?: string | undefined;
}

export type SendState = "queued" | "sending" | "failed";

/** A message, possibly one's own that the server has not confirmed. */
export type TimelineMessage = Message & {
  local?: {
    nonce: string;
    state: SendState;
    error?: { code?: string; message?: string };
    at?: number | string;
    files?: readonly LocalFile[] | undefined;
  };
};

export interface TimelineStream {
  streamId: string;
  senderId: string;
  senderName?: string | undefined;
  phase: string;
  text: string;
  startedAt: number | string;
  status?: string;
}

export type Row =
  | { kind: "start"; key: "start" }
  | { kind: "day"; key: string; at: string }
  | { kind: "unread"; key: "unread" }
  | { kind: "message"; key: string; message: TimelineMessage; first: boolean; parent: TimelineMessage | null }
  | { kind: "notice"; key: string; message: TimelineMessage }
  /** The one card of a task: `message` is its first row, `latest` the newest. */
  | { kind: "task"; key: string; message: TimelineMessage; latest: TimelineMessage }
  /** A task came to a stop while others were writing below its card: one line where it happened. */
  | { kind: "taskNote"; key: string; message: TimelineMessage }
  /** A side conversation, under the message that it belongs to. */
  | { kind: "huddle"; key: string; id: string }
  | { kind: "error"; key: string; message: TimelineMessage }
  | { kind: "stream"; key: string; stream: TimelineStream; first: boolean };

/** A pause of this length starts a new block of the same author. */
const BLOCK_GAP_MS = 5 * 60_000;

const hidden = new Set(["TaskReassign", "TaskDeclined", "EndTurn", "TurnDirective", "CapabilityUpdate", "capability_negotiation"]);

// Stages of a task as other servers' agents write them: the card of the task says it all (contract 5.3).
const stages = new Set(["TaskProgress", "TaskComplete", "TaskFail", "TaskAccept", "TaskReject"]);
const nudges = ["parked_recheck", "commitment_recheck", "thread_nudge", "nudge_kind"];

function isHidden(message: Message): boolean {
  const type = typeOf(message);
  if (hidden.has(type) || message.threadOnly === true) return true;
  if (stages.has(type)) return typeof message.metadata?.["task_id"] === "string";
  return message.messageType === "StatusUpdate" && nudges.some((key) => message.metadata?.[key]);
}

/** The task that a row tells of, when it is a row of its card. */
function cardTask(message: Message): string | null {
  const id = message.messageType === "StatusUpdate" ? message.metadata?.["task_id"] : null;
  return typeof id === "string" ? id : null;
}

/** The identity of a row: own messages keep that of their placeholder, answers that of their stream, so that nothing is built anew or jumps. */
export function messageKey(message: TimelineMessage): string {
  const { client_nonce: nonce, stream_id: stream } = message.metadata ?? {};
  if (message.local) return `n:${message.local.nonce}`;
  if (nonce) return `n:${nonce}`;
  if (stream) return `s:${stream}`;
  return `m:${message.id}`;
}

export interface RowsInput {
  items: readonly TimelineMessage[];
  streams: readonly TimelineStream[];
  selfId: string;
  /** `insertedAt` of the last message read before the room was opened; null when everything is read or nothing is known. */
  readUpTo: string | null | undefined;
  /** The same point as a `messageSeq`, where the server counts: exact even when it lies beyond what is loaded. */
  readSeq?: number | null | undefined;
  /** The first message of the room is loaded: say where it begins. */
  reachedStart: boolean;
  /** Side conversations of the room, oldest first. */
  huddles?: readonly HuddleMark[] | undefined;
}

export interface HuddleMark {
  id: string;
  /** The message that it belongs to; without one that is shown it stands where it was opened. */
  anchorId: string;
  at: string;
}

export function buildRows({ items, streams, selfId, readUpTo, readSeq, reachedStart, huddles = [] }: RowsInput): Row[] {
  const rows: Row[] = [];
  const byId = new Map(items.map((m) => [m.id, m]));
  const used = new Set<string>();
  let day = "";
  let previous: TimelineMessage | null = null;
  let divided = readUpTo == null;
  const cards = new Map<string, { row: Extract<Row, { kind: "task" }>; at: number }>();
  let written = 0;
  const marks = placeHuddles(huddles, items, reachedStart);
  const putHuddles = (place: string) => {
    for (const id of marks.get(place) ?? []) {
      rows.push({ kind: "huddle", key: `h:${id}`, id });
      previous = null;
    }
  };
  if (reachedStart) rows.push({ kind: "start", key: "start" });
  putHuddles("start");
  for (const message of items) {
    if (isHidden(message)) continue;
    const task = cardTask(message);
    const card = task === null ? undefined : cards.get(task);
    if (card) {
      card.row.latest = message;
      // Directly below its card the card itself says it.
      if (card.at === written) {
        putHuddles(message.id);
        continue;
      }
    }
    const at = message.insertedAt;
    const thisDay = dayKey(at);
    if (thisDay !== day) {
      rows.push({ kind: "day", key: `day:${thisDay}`, at });
      day = thisDay;
      previous = null;
    }
    if (!divided && !message.local && message.senderId !== selfId && isNew(message, readUpTo, readSeq)) {
      rows.push({ kind: "unread", key: "unread" });
      divided = true;
      previous = null;
    }
    // Two rows of one key would share a place on the screen; the server's id is always free.
    let key = messageKey(message);
    if (used.has(key)) key = `m:${message.id}`;
    used.add(key);
    if (card) {
      rows.push({ kind: "taskNote", key, message });
      previous = null;
    } else if (task !== null) {
      const row = { kind: "task" as const, key, message, latest: message };
      rows.push(row);
      cards.set(task, { row, at: written });
      previous = null;
    } else if (isError(message)) {
      rows.push({ kind: "error", key, message });
      previous = null;
      written++;
    } else if (isNotice(message)) {
      rows.push({ kind: "notice", key, message });
      previous = null;
    } else {
      const parent = message.parentMessageId ? (byId.get(message.parentMessageId) ?? null) : null;
      rows.push({ kind: "message", key, message, first: startsBlock(previous, message, parent), parent });
      previous = message;
      written++;
    }
    putHuddles(message.id);
  }
  for (const stream of streams) {
    const key = `s:${stream.streamId}`;
    if (!stream.text || used.has(key)) continue;
    used.add(key);
    rows.push({ kind: "stream", key, stream, first: true });
    previous = null;
  }
  return rows;
}

/** Under which message each stands; "start" before all. What belongs to history that is not loaded stands nowhere yet. */
function placeHuddles(huddles: readonly HuddleMark[], items: readonly TimelineMessage[], reachedStart: boolean): Map<string, string[]> {
  const out = new Map<string, string[]>();
  if (huddles.length === 0) return out;
  const shown = items.filter((m) => !isHidden(m) && !m.local);
  const ids = new Set(shown.map((m) => m.id));
  for (const h of huddles) {
    let place = ids.has(h.anchorId) ? h.anchorId : "";
    if (!place) {
      let last = "";
      for (const m of shown) if (m.insertedAt <= h.at) last = m.id;
      place = last || (reachedStart ? "start" : "");
    }
    if (place) out.set(place, [...(out.get(place) ?? []), h.id]);
  }
  return out;
}

/** Every answer of an agent stands by itself, with its time and model: it belongs to a question, not to the answer above it. */
function isNew(message: TimelineMessage, readUpTo: string | null | undefined, readSeq: number | null | undefined): boolean {
  if (readSeq != null && message.messageSeq !== undefined) return message.messageSeq > readSeq;
  return message.insertedAt > (readUpTo ?? "");
}

function startsBlock(previous: TimelineMessage | null, message: TimelineMessage, parent: TimelineMessage | null): boolean {
  if (!previous || previous.senderId !== message.senderId || parent) return true;
  if (message.sender?.type === "agent" && (!message.turnGroupId || message.turnGroupId !== previous.turnGroupId)) return true;
  return Date.parse(message.insertedAt) - Date.parse(previous.insertedAt) > BLOCK_GAP_MS;
}
