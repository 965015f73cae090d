/** The one line that brings an agent's bridge online. Pure. */
import type { Id } from "#/api/types";

const KEY_PLACEHOLDER = "ak_…";

export interface BridgeLine {
  /** To copy. */
  text: string;
  /** To look at: the middle of the key is left out. */
  shown: string;
  /** False when the key has to be put in by hand. */
  complete: boolean;
}

export function bridgeLine(origin: string, agentId: Id, apiKey: string | undefined): BridgeLine {
  const line = (key: string) => `AGENT_API_KEY=${key} agnt bridge --url ${origin} --agent-id ${agentId}`;
  if (!apiKey) return { text: line(KEY_PLACEHOLDER), shown: line(KEY_PLACEHOLDER), complete: false };
  const short = apiKey.length > 16 ? `${apiKey.slice(0, 8)}…${apiKey.slice(-4)}` : apiKey;
  return { text: line(apiKey), shown: line(short), complete: true };
}
