/** Who is here, which agents run and what each does, from the user topic (contract desktop.md 3.5). Pure. */
import type { AgentActivity, AgentPresence, Conversation, Id, Member } from "#/api/types";

export interface Activity {
  activity: AgentActivity;
  /** Where; empty: everywhere. */
  conversationIds: readonly Id[];
  /** When it began; null when it was already so at the first look. */
  since: number | null;
}

export interface Device {
  name: string;
  nickname?: string | null;
}

export interface PresenceState {
  /** False until the first snapshot: nothing can be said of anybody. */
  known: boolean;
  people: ReadonlySet<Id>;
  agents: ReadonlyMap<Id, AgentPresence>;
  activities: ReadonlyMap<Id, Activity>;
  devices: ReadonlyMap<Id, Device>;
}

export const nobody: PresenceState = { known: false, people: new Set(), agents: new Map(), activities: new Map(), devices: new Map() };

type Payload = Record<string, unknown>;

/** Takes any presence event of the user topic; another event gives the same state back. */
export function foldPresence(state: PresenceState, event: string, payload: Payload, now: number): PresenceState {
  switch (event) {
    case "presence_snapshot":
      return snapshot(state, payload);
    case "agent_status_changed": {
      const id = payload["agentId"];
      // Without `presence` the event is from an older server and says too little (0.2).
      if (typeof id !== "string" || typeof payload["presence"] !== "string") return state;
      return agentStatus(state, id, payload["presence"] as AgentPresence, payload["deviceName"], payload["deviceNickname"]);
    }
    case "agent_activity_changed": {
      const id = payload["agentId"];
      if (typeof id !== "string") return state;
      return { ...state, activities: activity(state.activities, id, payload["activity"], payload["conversationIds"], now) };
    }
    case "human_status_changed": {
      const id = payload["participantId"];
      if (typeof id !== "string") return state;
      const people = new Set(state.people);
      if (payload["online"] === true) people.add(id);
      else people.delete(id);
      return { ...state, people };
    }
    case "new_conversation":
      return acquaint(state, (payload["conversation"] as Conversation | undefined)?.members);
    case "member_added":
      return acquaint(state, payload["member"] ? [payload["member"] as Member] : []);
    default:
      return state;
  }
}

/**
 * Takes in who is here of people met through a new room: the snapshot left them out when there was no room in common, and no event tells what has
 * not changed. Only adds, as whoever leaves is told.
 */
function acquaint(state: PresenceState, members: readonly Member[] | undefined): PresenceState {
  const met = (members ?? []).filter((m) => m.participant?.type === "human" && m.participant.online && !state.people.has(m.participantId));
  if (!state.known || met.length === 0) return state;
  return { ...state, people: new Set([...state.people, ...met.map((m) => m.participantId)]) };
}

/** Replaces everything: the only source that clears stale ids. Activities that go on keep their beginning. */
function snapshot(state: PresenceState, payload: Payload): PresenceState {
  const online = Array.isArray(payload["onlineParticipantIds"]) ? (payload["onlineParticipantIds"] as Id[]) : [];
  const presences = (payload["agentPresences"] ?? {}) as Record<Id, AgentPresence>;
  const doing = (payload["agentActivities"] ?? {}) as Record<Id, { activity?: unknown; conversationIds?: unknown }>;
  const devices = (payload["agentDevices"] ?? {}) as Record<Id, Device>;
  let activities: ReadonlyMap<Id, Activity> = new Map();
  for (const [id, a] of Object.entries(doing)) {
    activities = activity(activities, id, a?.activity, a?.conversationIds, null);
    const held = state.activities.get(id);
    const next = activities.get(id);
    if (held && next && held.activity === next.activity) activities = new Map(activities).set(id, { ...next, since: held.since });
  }
  return {
    known: true,
    people: new Set(online),
    agents: new Map(Object.entries(presences)),
    activities,
    devices: new Map(Object.entries(devices)),
  };
}

function agentStatus(state: PresenceState, id: Id, presence: AgentPresence, name: unknown, nickname: unknown): PresenceState {
  const agents = new Map(state.agents).set(id, presence);
  const devices = new Map(state.devices);
  let activities = state.activities;
  if (presence === "offline") {
    devices.delete(id);
    if (activities.has(id)) {
      activities = new Map(activities);
      (activities as Map<Id, Activity>).delete(id);
    }
  } else if (typeof name === "string") {
    devices.set(id, { name, nickname: typeof nickname === "string" ? nickname : null });
  }
  return { ...state, agents, devices, activities };
}

function activity(map: ReadonlyMap<Id, Activity>, id: Id, value: unknown, rooms: unknown, now: number | null): ReadonlyMap<Id, Activity> {
  const next = new Map(map);
  if (typeof value !== "string" || value === "") {
    next.delete(id);
    return next;
  }
  const held = map.get(id);
  next.set(id, {
    activity: value as AgentActivity,
    conversationIds: Array.isArray(rooms) ? (rooms as Id[]) : [],
    since: held?.activity === value ? held.since : now,
  });
  return next;
}

/** The four marks of the design: here, idle, away, working. */
export type PresenceMark = "here" | "idle" | "away" | "working";

export function markOf(state: PresenceState, id: Id): PresenceMark {
  if (state.people.has(id)) return "here";
  if (state.agents.get(id) !== "online_local") return "away";
  const doing = state.activities.get(id);
  if (!doing) return "here";
  return doing.activity === "waiting" ? "idle" : "working";
}
