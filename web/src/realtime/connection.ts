/** The state behind the connection banner. Pure: events in, state out; `hub.ts` feeds it. */

export type ConnectionPhase =
  /** First connection, nothing shown for the first moments. */
  | "connecting"
  | "online"
  /** The device says it has no network. */
  | "offline"
  /** Lost, trying again. */
  | "reconnecting"
  /** The server said it restarts (close code 1012): back in a moment. */
  | "restarting";

export interface ConnectionState {
  state: ConnectionPhase;
  /** When this state began, in ms. */
  since: number;
  /** Tries since the connection was lost. */
  attempt: number;
  /** When the next try starts, in ms; null while trying. */
  retryAt: number | null;
  /** True once connected in this session: before, "reconnecting" would be a lie. */
  wasOnline: boolean;
}

export type ConnectionEvent =
  | { type: "opened" }
  | { type: "closed"; code: number }
  | { type: "retry_planned"; delayMs: number; attempt: number }
  | { type: "trying" }
  | { type: "network_lost" }
  | { type: "network_back" };

const SERVICE_RESTART = 1012;

export function startConnection(now: number): ConnectionState {
  return { state: "connecting", since: now, attempt: 0, retryAt: null, wasOnline: false };
}

export function foldConnection(s: ConnectionState, e: ConnectionEvent, now: number): ConnectionState {
  switch (e.type) {
    case "opened":
      return { state: "online", since: now, attempt: 0, retryAt: null, wasOnline: true };
    case "closed": {
      if (e.code === SERVICE_RESTART) return enter(s, "restarting", now);
      // A failed try during a restart or without network keeps its reason; the banner does not flicker between words.
      if (s.state === "offline" || s.state === "restarting") return s;
      return enter(s, s.wasOnline ? "reconnecting" : "connecting", now);
    }
    case "retry_planned": {
      const next = { ...s, attempt: e.attempt, retryAt: now + e.delayMs };
      // A restart that takes this long is an outage.
      if (s.state === "restarting" && now - s.since > 30_000) return { ...next, state: "reconnecting", since: s.since };
      return next;
    }
    case "trying":
      return s.retryAt === null ? s : { ...s, retryAt: null };
    case "network_lost":
      return s.state === "offline" ? s : { ...s, state: "offline", since: now, retryAt: null };
    case "network_back":
      return s.state === "offline" ? { ...s, state: s.wasOnline ? "reconnecting" : "connecting", since: now, attempt: 0, retryAt: null } : s;
  }
}

function enter(s: ConnectionState, state: ConnectionPhase, now: number): ConnectionState {
  return s.state === state ? s : { ...s, state, since: now };
}

/** Delay before try number `attempt` (from 1), spread by ±30 % so that a restarted server is not met by everybody at once. */
export function retryDelay(attempt: number, restarting: boolean, random: () => number = Math.random): number {
  const steps = restarting ? [400, 800, 1200, 2000, 3000] : [50, 200, 500, 1000, 2000, 3000];
  const base = steps[attempt - 1] ?? 5000;
  return Math.round(base * (0.7 + random() * 0.6));
}
