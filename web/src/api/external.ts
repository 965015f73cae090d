/** Sessions that people drive in their own command line tools, and the invites that make agents of them (contract 4.13, 5.4; docs/external-sessions.md). */
import { api } from "./client";
import type { Id, Timestamp } from "./types";

export interface AgentInvite {
  id: Id;
  displayName: string;
  agentId: Id | null;
  status: "pending" | "claimed" | "exhausted" | "revoked" | "expired";
  maxUses: number;
  uses: number;
  expiresAt: Timestamp;
}

/** The code is there once, in the answer that made it. */
export interface FreshInvite extends AgentInvite {
  code: string;
}

export async function listInvites(signal?: AbortSignal | undefined): Promise<AgentInvite[]> {
  return (await api.get<{ invites: AgentInvite[] }>("/api/invites", { signal })).invites;
}

/** With an agent, its claim makes a new key of that agent; without one, a new agent. */
export function createInvite(input: { displayName?: string; agentId?: Id }): Promise<FreshInvite> {
  return api.post("/api/invites", input);
}

export function revokeInvite(id: Id): Promise<unknown> {
  return api.delete(`/api/invites/${encodeURIComponent(id)}`);
}
