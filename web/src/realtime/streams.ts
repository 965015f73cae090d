/**
 * What agents are doing in one room right now, folded from `message_streaming` (contract desktop.md 3.6). Pure: time is an argument.
 */
import type { Id, StreamPhase, StreamStatus } from "#/api/types";

export const STALE_MS = 75_000;
export const LINGER_MS = 3_000;
const MAX_STEPS = 8;
const MIN_THOUGHT = 12;

export interface Stream {
  streamId: string;
  senderId: Id;
  senderName: string;
  phase: StreamPhase;
  /** `done` lingers a moment before it goes. */
  status: "active" | "done";
  /** Text of the current writing; empty in other phases. */
  text: string;
  /** What was written before the agent went back to work, oldest first. */
  thoughts: readonly string[];
  /** The last distinct steps, oldest first. */
  steps: readonly string[];
  startedAt: number;
  updatedAt: number;
}

export interface StreamFrame {
  streamId: string;
  senderId: Id;
  senderName?: string;
  status: StreamStatus;
  phase?: StreamPhase | undefined;
  phaseDetail?: string | undefined;
  /** The whole text so far, not a piece. */
  content?: string | null | undefined;
}

export interface StreamState {
  /** In the order first seen, which does not change while they live. */
  streams: readonly Stream[];
  /** Ids that ended: a late frame must not bring them back. */
  ended: readonly string[];
  /** Characters of a stream's text that became thoughts. */
  kept: Readonly<Record<string, string>>;
}

export const noStreams: StreamState = { streams: [], ended: [], kept: {} };

const passive = (phase: StreamPhase) => phase === "queued" || phase === "waiting";

export function foldFrame(state: StreamState, frame: StreamFrame, now: number): StreamState {
  const { streamId, senderId } = frame;
  const phase = frame.phase ?? "thinking";
  if (frame.status === "cancelled") return cancel(state, streamId, senderId);
  if (state.ended.includes(streamId)) return state;
  const held = state.streams.find((s) => s.streamId === streamId);
  if (frame.status === "complete") {
    if (!held) return end(state, [streamId]);
    return { ...state, streams: replace(state.streams, { ...held, status: "done", updatedAt: now }), ended: remember(state.ended, [streamId]) };
  }
  // An instant signal of the server says "thinking" before the agent itself does: noise.
  if (streamId.startsWith("signal:") && phase === "thinking") return state;
  const others = state.streams.filter((s) => s.senderId === senderId && s.streamId !== streamId);
  if (passive(phase) && others.some((s) => s.status === "active" && !passive(s.phase))) return state;

  const next = step(held ?? fresh(frame, phase, now), frame, phase, now, state.kept[streamId] ?? "");
  // An agent does one thing per room: a new stream takes the place of its earlier ones, where they stood.
  let streams: readonly Stream[];
  if (held) streams = replace(state.streams, next.stream).filter((s) => !others.includes(s));
  else if (others[0]) {
    const at = others[0];
    streams = state.streams.map((s) => (s === at ? next.stream : s)).filter((s) => s === next.stream || s.senderId !== senderId);
  } else streams = [...state.streams, next.stream];
  return {
    streams,
    ended: remember(
      state.ended,
      others.map((s) => s.streamId),
    ),
    kept: next.kept === (state.kept[streamId] ?? "") ? state.kept : { ...state.kept, [streamId]: next.kept },
  };
}

function fresh(frame: StreamFrame, phase: StreamPhase, now: number): Stream {
  return {
    streamId: frame.streamId,
    senderId: frame.senderId,
    senderName: frame.senderName ?? "",
    phase,
    status: "active",
    text: "",
    thoughts: [],
    steps: [],
    startedAt: now,
    updatedAt: now,
  };
}

function step(held: Stream, frame: StreamFrame, phase: StreamPhase, now: number, kept: string): { stream: Stream; kept: string } {
  let stream: Stream = { ...held, phase, updatedAt: now, senderName: frame.senderName || held.senderName };
  const whole = frame.content ?? null;
  let base = kept;
  if (phase === "writing") {
    if (whole !== null) stream = { ...stream, text: whole.startsWith(base) ? whole.slice(base.length).replace(/^\s+/, "") : whole };
  } else {
    if (held.phase === "writing" && held.text.trim().length >= MIN_THOUGHT) {
      stream = { ...stream, thoughts: [...held.thoughts, held.text.trim()] };
      base = whole ?? base + held.text;
    }
    stream = { ...stream, text: "" };
  }
  const detail = frame.phaseDetail?.trim();
  if (detail && held.steps[held.steps.length - 1] !== detail) {
    stream = { ...stream, steps: [...held.steps.filter((s) => s !== detail), detail].slice(-MAX_STEPS) };
  }
  return { stream, kept: base };
}

function cancel(state: StreamState, streamId: string, senderId: Id): StreamState {
  if (state.streams.some((s) => s.streamId === streamId)) return end(state, [streamId]);
  // An unknown id ends only what that sender has waiting, never what runs.
  const waiting = state.streams.filter((s) => s.senderId === senderId && passive(s.phase)).map((s) => s.streamId);
  return end(state, [...waiting, streamId]);
}

/** The sender's message arrived: its stream has become that message. */
export function messageLanded(state: StreamState, senderId: Id | null, streamId: string | undefined): StreamState {
  const gone = state.streams.filter((s) => s.streamId === streamId || (senderId !== null && s.senderId === senderId)).map((s) => s.streamId);
  if (streamId && !gone.includes(streamId)) gone.push(streamId);
  return gone.length ? end(state, gone) : state;
}

export function sweepStreams(state: StreamState, now: number): StreamState {
  const dead = state.streams
    .filter((s) => (s.status === "done" ? now - s.updatedAt >= LINGER_MS : now - s.updatedAt >= STALE_MS))
    .map((s) => s.streamId);
  if (!dead.length) return state;
  const streams = state.streams.filter((s) => !dead.includes(s.streamId));
  // A stale stream may come back to life; a finished one may not, and is in `ended` already.
  return { ...state, streams, kept: without(state.kept, dead) };
}

/** Milliseconds until `sweepStreams` has something to do, or null. */
export function nextSweep(state: StreamState, now: number): number | null {
  let next: number | null = null;
  for (const s of state.streams) {
    const due = Math.max(0, s.updatedAt + (s.status === "done" ? LINGER_MS : STALE_MS) - now);
    if (next === null || due < next) next = due;
  }
  return next;
}

function end(state: StreamState, ids: readonly string[]): StreamState {
  const streams = state.streams.some((s) => ids.includes(s.streamId)) ? state.streams.filter((s) => !ids.includes(s.streamId)) : state.streams;
  return { streams, ended: remember(state.ended, ids), kept: without(state.kept, ids) };
}

function remember(ended: readonly string[], ids: readonly string[]): readonly string[] {
  const fresh = ids.filter((id) => !ended.includes(id));
  return fresh.length ? [...ended, ...fresh].slice(-100) : ended;
}

function without(kept: Readonly<Record<string, string>>, ids: readonly string[]): Readonly<Record<string, string>> {
  if (!ids.some((id) => id in kept)) return kept;
  return Object.fromEntries(Object.entries(kept).filter(([id]) => !ids.includes(id)));
}

function replace(streams: readonly Stream[], next: Stream): readonly Stream[] {
  return streams.map((s) => (s.streamId === next.streamId ? next : s));
}
