/** Rooms, their messages and changes (contract 4.4, 4.5; docs/protocol.md 5, 6). Sending goes through the outbox, see `realtime/`. */
import { api } from "./client";
import type { ChangesPage, Conversation, ConversationType, Id, Message, Receipt, Timestamp } from "./types";

export const MESSAGE_PAGE = 30;

const room = (id: Id) => `/api/conversations/${encodeURIComponent(id)}`;

export async function listConversations(signal?: AbortSignal | undefined): Promise<Conversation[]> {
  const answer = await api.get<Conversation[] | { conversations: Conversation[] }>("/api/conversations", { query: { scope: "personal" }, signal });
  return Array.isArray(answer) ? answer : answer.conversations;
}

export function getConversation(id: Id, signal?: AbortSignal | undefined): Promise<Conversation> {
  return api.get(room(id), { signal });
}

/** `memberIds` without oneself. An existing direct room is returned, not doubled. */
export function createConversation(input: { type: ConversationType; title?: string; memberIds: Id[] }): Promise<Conversation> {
  return api.post("/api/conversations", input);
}

export function updateConversation(
  id: Id,
  input: { title?: string; avatarUrl?: string | null; agentsAddWithoutAsking?: boolean },
): Promise<Conversation> {
  return api.patch(room(id), input);
}

export function deleteConversation(id: Id): Promise<void> {
  return api.delete(room(id));
}

export function addMember(id: Id, participantId: Id): Promise<unknown> {
  return api.post(`${room(id)}/members`, { participantId });
}

/** One's own id: leave. */
export function removeMember(id: Id, participantId: Id): Promise<unknown> {
  return api.delete(`${room(id)}/members/${encodeURIComponent(participantId)}`);
}

export async function unreadCounts(signal?: AbortSignal | undefined): Promise<Record<Id, number>> {
  return (await api.get<{ unreadCounts: Record<Id, number> }>("/api/unread-counts", { signal })).unreadCounts ?? {};
}

export function markRead(id: Id): Promise<unknown> {
  return api.post(`${room(id)}/read`);
}

export interface MessagesPage {
  messages: Message[];
  /** Version of the room this page was read at, when the server says it. */
  seq?: number;
}

/** Newest page, or the page before `before` (the `insertedAt` of the oldest message held). Fewer than 30 rows: there is nothing older. */
export function listMessages(id: Id, before?: Timestamp | undefined, signal?: AbortSignal | undefined): Promise<MessagesPage> {
  return api.get(`${room(id)}/messages`, { query: { limit: MESSAGE_PAGE, before }, signal });
}

export function listChanges(id: Id, after: number, limit = 200, signal?: AbortSignal | undefined): Promise<ChangesPage> {
  return api.get(`${room(id)}/changes`, { query: { after, limit }, signal });
}

/** What became of the newest hundred messages of a room, with each agent that got them. */
export async function listReceipts(id: Id, signal?: AbortSignal | undefined): Promise<Receipt[]> {
  return (await api.get<{ receipts: Receipt[] }>(`${room(id)}/receipts`, { signal })).receipts;
}

/** Stops all agents of the room, or one. `stale`: somebody wrote since `lastMessageId`, nothing was stopped. */
export function stopAgents(id: Id, input: { lastMessageId?: Id; agentId?: Id } = {}): Promise<{ stopped: unknown; stale?: boolean }> {
  return api.post(`${room(id)}/stop-agents`, input);
}
