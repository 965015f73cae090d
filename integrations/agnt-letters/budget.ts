// How often letters may wake a session. The limits and their names are those of every alarm of agnt: `alarms.json` in the
// user's folder.
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Letter } from "./spool.ts";

/** What letters may do for one user. Times are counted over an hour that ends now, "in all" over a session's life. */
export interface Limits {
  /** Letters may begin a turn of an idle session. Without it they wait for the next prompt. */
  wake: boolean;
  /** Letters are shown between two tool calls of a turn. */
  during_turn: boolean;
  /** Wakes without a person's prompt between them: two agents that answer each other stop here. */
  max_in_a_row: number;
  wakes_per_hour: number;
  wakes_in_all: number;
  /** Wakes by letters of one sender. */
  peer_per_hour: number;
  peer_in_all: number;
  /** A letter that more automatic letters led to wakes nobody. */
  max_auto: number;
  /** Characters of one letter as it is shown. */
  max_characters: number;
  /** Letters shown at once. */
  max_at_once: number;
}

/** Nothing is woken unasked. */
export const defaultLimits: Readonly<Limits> = {
  wake: false,
  during_turn: true,
  max_in_a_row: 3,
  wakes_per_hour: 12,
  wakes_in_all: 200,
  peer_per_hour: 6,
  peer_in_all: 60,
  max_auto: 2,
  max_characters: 8000,
  max_at_once: 10,
};

const bounds: Partial<Record<keyof Limits, [number, number]>> = { max_characters: [100, 30_000], max_at_once: [1, 50] };

/**
 * Reads a user's limits. Without `alarms.json` a user whose check mode is "auto" may be woken. A file that cannot be read gives
 * the defaults: who mistypes a limit must not lose all limits.
 */
export async function readLimits(user: string): Promise<Limits> {
  let raw: string;
  try {
    raw = await readFile(join(user, "alarms.json"), "utf8");
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== "ENOENT") return { ...defaultLimits };
    const mode = await readFile(join(user, "check-mode"), "utf8").catch(() => "");
    return { ...defaultLimits, wake: mode.trim() === "auto" };
  }
  const limits = { ...defaultLimits };
  let saved: unknown;
  try {
    saved = JSON.parse(raw);
  } catch {
    return limits;
  }
  if (typeof saved !== "object" || saved === null || Array.isArray(saved)) return limits;
  for (const [name, value] of Object.entries(saved)) {
    const usual = defaultLimits[name as keyof Limits];
    if (usual === undefined || value === null) continue;
    if (typeof usual === "boolean" ? typeof value !== "boolean" : !Number.isSafeInteger(value)) return { ...defaultLimits };
    const [least, most] = bounds[name as keyof Limits] ?? [0, 100_000];
    Object.assign(limits, { [name]: typeof value === "number" ? Math.min(Math.max(value, least), most) : value });
  }
  return limits;
}

/** What one session was woken for. Times are milliseconds as Date.now gives them. */
export interface Account {
  /** Wakes since a person's last prompt. */
  row: number;
  /** The most automatic letters that led to one that was shown since then. */
  auto: number;
  in_all: number;
  woken: number[];
  peers: Record<string, { woken: number[]; in_all: number }>;
}

export function newAccount(): Account {
  return { row: 0, auto: 0, in_all: 0, woken: [], peers: {} };
}

/** An account as it was stored; whatever is wrong in it counts as nothing. */
export function parseAccount(value: unknown): Account {
  const record = (v: unknown): Record<string, unknown> =>
    typeof v === "object" && v !== null && !Array.isArray(v) ? (v as Record<string, unknown>) : {};
  const count = (v: unknown): number => (Number.isSafeInteger(v) && (v as number) > 0 ? (v as number) : 0);
  const times = (v: unknown): number[] => (Array.isArray(v) ? v.filter((t) => typeof t === "number" && Number.isFinite(t)).slice(-mostTimes) : []);
  const saved = record(value);
  const account = newAccount();
  account.row = count(saved["row"]);
  account.auto = count(saved["auto"]);
  account.in_all = count(saved["in_all"]);
  account.woken = times(saved["woken"]);
  for (const [peer, of] of Object.entries(record(saved["peers"])).slice(-mostPeers)) {
    account.peers[peer] = { woken: times(record(of)["woken"]), in_all: count(record(of)["in_all"]) };
  }
  return account;
}

const hour = 3_600_000;
const mostTimes = 10_000;
const mostPeers = 200;

function lastHour(times: number[], now: number): number[] {
  return times.filter((t) => t > now - hour && t <= now);
}

/** The senders whose letters may wake the session now: none when a limit is reached. */
export function callers(account: Account, letters: Letter[], limits: Limits, now: number): string[] {
  if (!limits.wake || account.row >= limits.max_in_a_row || account.in_all >= limits.wakes_in_all) return [];
  if (lastHour(account.woken, now).length >= limits.wakes_per_hour) return [];
  const peers = new Set<string>();
  for (const letter of letters) {
    const peer = account.peers[letter.from];
    if (!letter.verified || letter.auto > limits.max_auto) continue;
    if (peer && (peer.in_all >= limits.peer_in_all || lastHour(peer.woken, now).length >= limits.peer_per_hour)) continue;
    peers.add(letter.from);
  }
  return [...peers];
}

/** Enters a wake. */
export function book(account: Account, by: string[], now: number): void {
  account.row++;
  account.in_all++;
  account.woken = [...lastHour(account.woken, now), now];
  for (const from of by) {
    const peer = account.peers[from] ?? { woken: [], in_all: 0 };
    delete account.peers[from]; // last in order: the ones that are forgotten first were quiet longest
    account.peers[from] = { woken: [...lastHour(peer.woken, now), now], in_all: peer.in_all + 1 };
  }
  for (const from of Object.keys(account.peers).slice(0, -mostPeers)) delete account.peers[from];
}

/** When a limit of the last hour lets go, at the latest; 0 when none holds. */
export function nextRelease(account: Account, now: number): number {
  const oldest = Math.min(
    ...[account.woken, ...Object.values(account.peers).map((p) => p.woken)].map((t) => lastHour(t, now)[0] ?? Number.POSITIVE_INFINITY),
  );
  return Number.isFinite(oldest) ? oldest + hour : 0;
}
