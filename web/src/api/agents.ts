/** Agents: list, lifecycle, configuration, health, turns, models, local setup (contract 4.3, 4.10, 4.11; turns and setup are ours). */
import { api } from "./client";
import type {
  Agent,
  AgentHealth,
  AgentHealthDetail,
  AgentWithKey,
  FieldLimits,
  Id,
  LocalBackend,
  LocalSetup,
  ModelCatalog,
  ModelConfig,
  Turn,
} from "./types";

const agent = (id: Id) => `/api/agents/${encodeURIComponent(id)}`;

export async function listAgents(signal?: AbortSignal | undefined): Promise<Agent[]> {
  return (await api.get<{ agents: Agent[] }>("/api/agents", { signal })).agents;
}

export function getAgent(id: Id, signal?: AbortSignal | undefined): Promise<Agent> {
  return api.get(agent(id), { signal });
}

export interface AgentInput {
  displayName: string;
  description?: string;
  agentType?: string;
  soulMd?: string;
  modelConfig?: ModelConfig;
}

/** The answer carries the key, this once. */
export function createAgent(input: AgentInput): Promise<AgentWithKey> {
  return api.post("/api/agents", { runtime: "local", ...input });
}

export async function updateAgent(
  id: Id,
  input: Partial<Pick<AgentInput, "displayName" | "description" | "agentType">> & { avatarUrl?: string | null; status?: string },
): Promise<Agent> {
  const answer = await api.patch<Agent | { agent: Agent }>(agent(id), input);
  return "agent" in answer ? answer.agent : answer;
}

/** Sparse: absent keys stay, null clears. */
export function updateModelConfig(id: Id, changes: ModelConfig): Promise<unknown> {
  return api.patch(`${agent(id)}/model-config`, { model_config: changes });
}

export function updateSoul(id: Id, soulMd: string): Promise<unknown> {
  return api.patch(`${agent(id)}/soul`, { soul_md: soulMd });
}

/** The old key stops working at once. */
export function regenerateKey(id: Id): Promise<AgentWithKey> {
  return api.post(`${agent(id)}/regenerate-key`);
}

/** Asks for the name again. What the agent wrote stays; it leaves all lists and its key is dead. */
export function deleteAgentForever(id: Id, confirmName: string): Promise<unknown> {
  return api.post(`${agent(id)}/delete-permanent`, { confirmName });
}

export function wakeAgent(id: Id): Promise<{ woken: boolean; status?: string; reason?: string }> {
  return api.post(`${agent(id)}/wake`);
}

export function stopAgent(id: Id): Promise<{ stopped: boolean; status?: string; reason?: string }> {
  return api.post(`${agent(id)}/stop`);
}

export async function listAgentHealth(signal?: AbortSignal | undefined): Promise<AgentHealth[]> {
  return (await api.get<{ agents: AgentHealth[] }>("/api/agents/health", { signal })).agents;
}

export function getAgentHealth(id: Id, signal?: AbortSignal | undefined): Promise<AgentHealthDetail> {
  return api.get(`${agent(id)}/health`, { signal });
}

export function unstickAgent(id: Id): Promise<{ message: string }> {
  return api.post(`${agent(id)}/health/unstick`);
}

const TURN_PAGE = 20;

/** Newest first; `below` is the oldest turn held. */
export function listTurns(id: Id, below?: Turn | undefined, signal?: AbortSignal | undefined): Promise<{ turns: Turn[]; hasMore: boolean }> {
  return api.get(`${agent(id)}/turns`, { query: { limit: TURN_PAGE, before: below?.endedAt, beforeId: below?.id }, signal });
}

export function modelCatalog(signal?: AbortSignal | undefined): Promise<ModelCatalog> {
  return api.get("/api/models/providers", { signal });
}

/** Used until the server has answered (contract 6). */
export const DEFAULT_FIELD_LIMITS: FieldLimits = {
  agent: { displayName: 100, description: 1000, creationBrief: 1000 },
  profile: { displayName: 100, description: 500 },
};

export function fieldLimits(signal?: AbortSignal | undefined): Promise<FieldLimits> {
  return api.get("/api/field-limits", { signal });
}

export function getLocalSetup(signal?: AbortSignal | undefined): Promise<LocalSetup> {
  return api.get("/api/setup/local", { signal });
}

/** Makes a real agent with what the machine has; the server starts its bridge itself. */
export function runLocalSetup(backend: LocalBackend): Promise<Agent> {
  return api.post("/api/setup/local", { backend });
}
