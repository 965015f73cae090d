/** Who is offered while a mention is typed. Pure. */
import { nameRank } from "#/lib/mention";

export interface Candidate {
  id: string;
  displayName: string;
  kind: "human" | "agent";
  avatarUrl?: string | null | undefined;
  /** Not in the room yet: mentioning adds them. */
  outside?: boolean;
}

const MAX_CANDIDATES = 6;

/** Members before others, better matches before weaker ones, then by name; at most six. */
export function candidatesFor(query: string, people: readonly Candidate[]): Candidate[] {
  return people
    .map((who) => ({ who, rank: nameRank(who.displayName, query) }))
    .filter((x) => x.rank >= 0)
    .sort(
      (a, b) =>
        Number(a.who.outside ?? false) - Number(b.who.outside ?? false) || a.rank - b.rank || a.who.displayName.localeCompare(b.who.displayName),
    )
    .slice(0, MAX_CANDIDATES)
    .map((x) => x.who);
}

/** The text after choosing a name for the query that starts at `start` and ends at the caret, and where the caret then is. */
export function complete(text: string, start: number, caret: number, name: string): { text: string; caret: number } {
  const after = text.slice(caret);
  const space = /^\s/.test(after) ? "" : " ";
  const head = `${text.slice(0, start)}@${name}${space}`;
  return { text: head + after, caret: head.length + (space ? 0 : 1) };
}
