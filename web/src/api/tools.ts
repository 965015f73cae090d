/** Tools of agents, what they did, what their models took, and the outside services that a person lets them call (contract 4.16; docs/tools.md). */
import { api } from "./client";
import type { Id, Timestamp } from "./types";

export interface AgentTool {
  id: string;
  name: string;
  scope: "global" | "agent";
  category: string;
  displayName: string;
  description: string;
  risk: "low" | "medium" | "high" | "critical";
  essential: boolean;
  enabled?: boolean;
  allowed?: boolean;
}

export interface ToolCallRow {
  id: string;
  tool: string;
  outcome: "done" | "refused" | "failed" | "timed_out";
  code: string;
  personName: string | null;
  conversationId: string | null;
  untrusted: boolean;
  durationMs: number;
  insertedAt: Timestamp;
}

export interface AgentUsage {
  days: number;
  requests: number;
  inputTokens: number;
  outputTokens: number;
  cacheReadInputTokens: number;
  cacheCreationInputTokens: number;
  cacheHitRate: number | null;
  stableParts: { hash: string; since: Timestamp }[];
}

export interface Operation {
  method: string;
  path: string;
  description: string;
  ask: boolean;
}

export interface Service {
  id: Id;
  name: string;
  description: string;
  baseUrl: string;
  auth: { kind: string; name?: string; fingerprint?: string };
  shared: boolean;
  enabled: boolean;
  operations: Operation[];
  agentIds: Id[];
}

export interface ServiceInput {
  name: string;
  description: string;
  baseUrl: string;
  auth: { kind: string; name?: string; secret?: string };
  shared: boolean;
  enabled: boolean;
  operations: Operation[];
  agentIds: Id[];
}

const agent = (id: Id) => `/api/agents/${encodeURIComponent(id)}`;

export async function listAgentTools(id: Id, signal?: AbortSignal | undefined): Promise<AgentTool[]> {
  return (await api.get<{ tools: AgentTool[] }>(`${agent(id)}/tools`, { query: { all: "true" }, signal })).tools;
}

export function chooseTool(id: Id, tool: string, on: boolean): Promise<unknown> {
  const path = `/api/tools/${encodeURIComponent(tool)}/assign`;
  return on ? api.post(path, { agentId: id }) : api.delete(`${path}/${encodeURIComponent(id)}`);
}

export async function listToolCalls(id: Id, signal?: AbortSignal | undefined): Promise<ToolCallRow[]> {
  return (await api.get<{ toolCalls: ToolCallRow[] }>(`${agent(id)}/tool-calls`, { query: { limit: 30 }, signal })).toolCalls;
}

export function agentUsage(id: Id, signal?: AbortSignal | undefined): Promise<AgentUsage> {
  return api.get(`${agent(id)}/usage`, { signal });
}

export async function listServices(signal?: AbortSignal | undefined): Promise<Service[]> {
  return (await api.get<{ apis: Service[] }>("/api/me/apis", { signal })).apis;
}

export async function addService(input: ServiceInput): Promise<Service> {
  return (await api.post<{ api: Service }>("/api/me/apis", input)).api;
}

export async function editService(id: Id, input: Partial<ServiceInput>): Promise<Service> {
  return (await api.patch<{ api: Service }>(`/api/me/apis/${encodeURIComponent(id)}`, input)).api;
}

export function removeService(id: Id): Promise<unknown> {
  return api.delete(`/api/me/apis/${encodeURIComponent(id)}`);
}
