/** Side conversations of rooms (contract 4.4, 5.1; docs/protocol.md 14). */
import { api } from "./client";
import type { Conversation, Id } from "./types";

/** All huddles below a room that the person may look into, newest first. */
export async function listHuddles(room: Id, signal?: AbortSignal | undefined): Promise<Conversation[]> {
  const answer = await api.get<Conversation[] | { conversations: Conversation[] }>("/api/conversations", {
    query: { scope: "agents", limit: 200, sourceConversationId: room },
    signal,
  });
  return Array.isArray(answer) ? answer : answer.conversations;
}

/** Ends a huddle for everybody in it; the room above reads the summary. */
export function completeHuddle(input: { huddleId: Id; outcome: string; summary: string }): Promise<unknown> {
  return api.post("/api/huddles/complete", input);
}
