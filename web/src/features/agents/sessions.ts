/** Sessions of people's own terminals, as their rooms tell them (docs/external-sessions.md). Pure. */
import type { Conversation, Id, JsonMap } from "#/api/types";

export interface ShownSession {
  room: Conversation;
  session: JsonMap;
}

const rank = (s: JsonMap) => (s["state"] === "waiting" ? 0 : s["state"] === "running" ? 1 : 2);

/** Rooms that show a session, those that wait for a person first, then the running ones, then the newest. */
export function sessionsOf(rooms: readonly Conversation[], agentId?: Id, except?: Id | null): ShownSession[] {
  const out: ShownSession[] = [];
  for (const room of rooms) {
    const session = room.metadata?.["session"];
    if (!session || typeof session !== "object" || room.id === except) continue;
    const s = session as JsonMap;
    if (agentId === undefined || s["agent_id"] === agentId) out.push({ room, session: s });
  }
  const at = (x: ShownSession) => (typeof x.session["last_event_at"] === "string" ? x.session["last_event_at"] : x.room.updatedAt);
  return out.sort((a, b) => rank(a.session) - rank(b.session) || (at(a) < at(b) ? 1 : at(a) > at(b) ? -1 : 0));
}
