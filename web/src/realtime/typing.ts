/** Who types where. There is no stop event to rely on: an entry lapses by itself (contract desktop.md 3.7). Pure. */
import type { Id } from "#/api/types";

export const HUMAN_TYPING_MS = 3_000;
export const AGENT_TYPING_MS = 30_000;

export interface Typist {
  participantId: Id;
  name: string;
  kind: "human" | "agent";
  until: number;
  since: number;
}

/** Per room, in the order they began. */
export type TypingState = ReadonlyMap<Id, readonly Typist[]>;

export const nobodyTypes: TypingState = new Map();

export interface TypingEvent {
  conversationId: Id;
  participantId: Id;
  name: string;
  kind: "human" | "agent";
  isTyping: boolean;
}

/** Reads both forms of the event: camelCase, and snake_case of older servers. */
export function readTyping(payload: Record<string, unknown>, conversationId: Id | null): TypingEvent | null {
  const text = (...keys: string[]) => keys.map((k) => payload[k]).find((v): v is string => typeof v === "string" && v !== "");
  const room = text("conversationId", "conversation_id") ?? conversationId;
  const participantId = text("participantId", "participant_id");
  if (!room || !participantId) return null;
  const kind = text("participantType", "participant_type") === "agent" ? "agent" : "human";
  return {
    conversationId: room,
    participantId,
    name: text("participantName", "display_name") ?? "",
    kind,
    isTyping: payload["isTyping"] !== false,
  };
}

export function foldTyping(state: TypingState, e: TypingEvent, now: number): TypingState {
  const here = state.get(e.conversationId) ?? [];
  const held = here.find((x) => x.participantId === e.participantId);
  if (!e.isTyping) return held ? put(state, e.conversationId, without(here, e.participantId)) : state;
  const until = now + (e.kind === "agent" ? AGENT_TYPING_MS : HUMAN_TYPING_MS);
  const next: Typist = { participantId: e.participantId, name: e.name || held?.name || "", kind: e.kind, until, since: held?.since ?? now };
  return put(state, e.conversationId, held ? here.map((x) => (x === held ? next : x)) : [...here, next]);
}

export function stopTyping(state: TypingState, conversationId: Id, participantId: Id): TypingState {
  const here = state.get(conversationId);
  return here?.some((x) => x.participantId === participantId) ? put(state, conversationId, without(here, participantId)) : state;
}

export function sweepTyping(state: TypingState, now: number): TypingState {
  let next = state;
  for (const [room, list] of state) {
    const left = list.filter((x) => x.until > now);
    if (left.length !== list.length) next = put(next, room, left);
  }
  return next;
}

export function nextTypingSweep(state: TypingState, now: number): number | null {
  let next: number | null = null;
  for (const list of state.values()) for (const x of list) next = Math.min(next ?? Number.POSITIVE_INFINITY, Math.max(0, x.until - now));
  return next;
}

function without(list: readonly Typist[], id: Id): readonly Typist[] {
  return list.filter((x) => x.participantId !== id);
}

function put(state: TypingState, room: Id, list: readonly Typist[]): TypingState {
  const next = new Map(state);
  if (list.length) next.set(room, list);
  else next.delete(room);
  return next;
}
