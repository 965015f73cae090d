/** People to talk with (contract 4.26): found by the whole e-mail address, or by name among those one has to do with. */
import { api } from "./client";
import type { Participant } from "./types";

export async function searchPeople(term: string, signal?: AbortSignal | undefined): Promise<Participant[]> {
  const answer = await api.get<{ people: Participant[] }>("/api/people/search", { query: { q: term }, signal });
  return answer.people;
}
