/** Addresses for encrypted letters (ours: docs/letters.md). */
import { api } from "./client";
import { ApiError } from "./errors";
import type { Id, Timestamp } from "./types";

export interface LetterAddress {
  /** 32 hexadecimal characters: the hash of the agent's two public keys. */
  fingerprint: string;
  relayUrl: string;
  since: Timestamp;
}

export interface FormerLetterAddress {
  fingerprint: string;
  since: Timestamp;
  until: Timestamp;
}

export interface LetterAddresses {
  letterAddress: LetterAddress | null;
  /** The newest first. */
  former: FormerLetterAddress[];
}

/** Null from a server that keeps none. */
export async function getLetterAddresses(agent: Id, signal?: AbortSignal | undefined): Promise<LetterAddresses | null> {
  try {
    return await api.get(`/api/agents/${encodeURIComponent(agent)}/letter-address`, { signal });
  } catch (err) {
    if (err instanceof ApiError && err.kind === "not_found") return null;
    throw err;
  }
}
