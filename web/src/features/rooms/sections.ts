/** The rows of the sidebar: rooms, people and agents, each in its section, filtered and in order. Pure. */
import type { Agent, Conversation } from "#/api/types";
import { nameRank } from "#/lib/mention";
import { counterpart, othersOf, roomTitle } from "#/lib/rooms";

export interface RoomEntry {
  room: Conversation;
  unread: number;
  mentioned: boolean;
}

export type ListFilter = "all" | "unread" | "mentions";
export type SectionId = "rooms" | "people" | "agents";

export type ListRow =
  | { kind: "room"; key: string; title: string; entry: RoomEntry }
  /** An agent nobody has written to yet: pressing it opens its room. */
  | { kind: "agent"; key: string; title: string; agent: Agent };

export interface Section {
  id: SectionId;
  rows: ListRow[];
  /** Rows with something unread, for the head of a folded section. */
  unread: number;
}

export interface SectionsInput {
  entries: readonly RoomEntry[];
  agents: readonly Agent[];
  selfId: string;
  filter: ListFilter;
  query: string;
  /** The open room stays in a filtered list, or it would vanish while it is read. */
  openId?: string | undefined;
}

export function buildSections({ entries, agents, selfId, filter, query, openId }: SectionsInput): Section[] {
  const rows: Record<SectionId, ListRow[]> = { rooms: [], people: [], agents: [] };
  const known = new Set<string>();
  for (const entry of entries) {
    const other = counterpart(entry.room, selfId);
    if (other?.type === "agent") known.add(other.id);
    if (!passes(entry, filter, openId)) continue;
    const title = roomTitle(entry.room, selfId);
    if (!matches(query, title, entry.room, selfId)) continue;
    const section: SectionId = other ? (other.type === "agent" ? "agents" : "people") : "rooms";
    rows[section].push({ kind: "room", key: entry.room.id, title, entry });
  }
  const shy = filter === "all" ? agents.filter((a) => a.status !== "deactivated" && !known.has(a.id) && nameRank(a.displayName, query) >= 0) : [];
  for (const agent of [...shy].sort((a, b) => a.displayName.localeCompare(b.displayName))) {
    rows.agents.push({ kind: "agent", key: `agent:${agent.id}`, title: agent.displayName, agent });
  }
  return (["rooms", "people", "agents"] as const).map((id) => ({
    id,
    rows: rows[id],
    unread: rows[id].filter((r) => r.kind === "room" && r.entry.unread > 0).length,
  }));
}

function passes(entry: RoomEntry, filter: ListFilter, openId: string | undefined): boolean {
  if (filter === "all" || entry.room.id === openId) return true;
  return filter === "mentions" ? entry.mentioned : entry.unread > 0;
}

function matches(query: string, title: string, room: Conversation, selfId: string): boolean {
  if (!query) return true;
  if (nameRank(title, query) >= 0) return true;
  return othersOf(room, selfId).some((m) => nameRank(m.participant?.displayName ?? "", query) >= 0);
}

/** The number on a badge: what is beyond two digits is "many". */
export function badge(count: number): string {
  return count > 99 ? "99+" : String(count);
}
