/** What agents remember, alone and together, what they were before, and where their person is (contract 4.17; docs/memory.md). */
import { api } from "./client";
import { ApiError } from "./errors";
import type { Agent, Id, Timestamp } from "./types";

export const categories = ["fact", "preference", "learning", "relationship", "skill"] as const;
export type Category = (typeof categories)[number];

export interface Memory {
  id: Id;
  category: Category;
  key: string;
  content: string;
  confidence: number;
  description: string | null;
  tags: string[];
  /** Of a shared one that holds in one workspace only. */
  organizationId: Id | null;
  sourceConversationId: Id | null;
  /** Text from outside had entered the turn that wrote it. */
  untrusted: boolean;
  updatedAt: Timestamp;
}

export interface MemoryPage {
  memories: Memory[];
  total: number;
  hasMore: boolean;
}

export interface MemoryFilter {
  q: string;
  category: Category | "";
}

export interface MemoryInput {
  category: Category;
  key: string;
  content: string;
  tags: string[];
}

/** Whose memories: those of one agent, or those that all agents of the person share. */
export type Whose = { agent: Id } | { workspace: Id | null };

const at = (whose: Whose) => ("agent" in whose ? `/api/agents/${encodeURIComponent(whose.agent)}/memories` : "/api/family/memories");

export function listMemories(whose: Whose, filter: MemoryFilter, offset: number, signal?: AbortSignal | undefined): Promise<MemoryPage> {
  const query: Record<string, string | number> = { limit: 50, offset };
  if (filter.q.trim()) query["q"] = filter.q.trim();
  if (filter.category) query["category"] = filter.category;
  if (!("agent" in whose) && whose.workspace) query["organizationId"] = whose.workspace;
  return api.get(at(whose), { query, signal });
}

/** A key that is taken is 409 `memory_exists`. */
export async function addMemory(whose: Whose, input: MemoryInput): Promise<Memory> {
  return (await api.post<{ memory: Memory }>(at(whose), input)).memory;
}

/** A shared memory has no route of its own for changes: it is written again under its key. */
export async function editMemory(whose: Whose, memory: Memory, change: { content: string; tags: string[] }): Promise<Memory> {
  if ("agent" in whose) return (await api.patch<{ memory: Memory }>(`${at(whose)}/${encodeURIComponent(memory.id)}`, change)).memory;
  const scope = memory.organizationId ? { scope: "workspace", organizationId: memory.organizationId } : { scope: "family" };
  return (await api.post<{ memory: Memory }>(at(whose), { category: memory.category, key: memory.key, ...change, ...scope, force: true })).memory;
}

export function removeMemory(whose: Whose, id: Id): Promise<unknown> {
  return api.delete(`${at(whose)}/${encodeURIComponent(id)}`);
}

export interface RoomMemory {
  memory: Record<string, unknown>;
  /** Counts changes; 0 while nobody has written it. */
  version: number;
}

export interface RoomMemoryChange {
  version: number;
  kind: "patch" | "replace";
  diff: Record<string, { from?: unknown; to?: unknown }>;
  reason: string;
  changedByName: string;
  insertedAt: Timestamp;
}

const roomMemory = (room: Id) => `/api/conversations/${encodeURIComponent(room)}/memory`;

/** Null from a server whose rooms remember nothing. */
export async function getRoomMemory(room: Id, signal?: AbortSignal | undefined): Promise<RoomMemory | null> {
  try {
    return await api.get(roomMemory(room), { signal });
  } catch (err) {
    if (err instanceof ApiError && err.kind === "not_found") return null;
    throw err;
  }
}

/** Merged into the memory; null removes a key. Another version than the one that was read is 409 `version_conflict`. */
export function patchRoomMemory(room: Id, changes: Record<string, unknown>, version: number): Promise<RoomMemory> {
  return api.patch(roomMemory(room), { changes, version });
}

export async function listRoomMemoryChanges(room: Id, signal?: AbortSignal | undefined): Promise<RoomMemoryChange[]> {
  return (await api.get<{ history: RoomMemoryChange[] }>(`${roomMemory(room)}/history`, { query: { limit: 50 }, signal })).history;
}

export interface FormerSoul {
  id: string;
  soulMd: string;
  replacedByName: string;
  replacedAt: Timestamp;
}

export async function listFormerSouls(agent: Id, signal?: AbortSignal | undefined): Promise<FormerSoul[]> {
  return (await api.get<{ history: FormerSoul[] }>(`/api/agents/${encodeURIComponent(agent)}/soul/history`, { signal })).history;
}

export function revertSoul(agent: Id, version: string): Promise<Agent> {
  return api.post(`/api/agents/${encodeURIComponent(agent)}/soul/revert`, { version });
}

export interface Place {
  latitude: number;
  longitude: number;
  accuracy?: number;
  timestamp: Timestamp;
}

export async function shareLocation(place: { latitude: number; longitude: number; accuracy: number }): Promise<Place> {
  return (await api.put<{ location: Place }>("/api/me/location", place)).location;
}

export function hideLocation(): Promise<unknown> {
  return api.delete("/api/me/location");
}
