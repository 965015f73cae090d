/** What bounds an agent: whether two people decide, and its tokens in a day (docs/protocol.md 9). */
import { api } from "./client";
import type { Id, NamedPerson, Timestamp } from "./types";

export const risks = ["low", "medium", "high", "critical"] as const;
export type Risk = (typeof risks)[number];

/** From `leastRisk` on two different people have to allow what the agent wants to run. */
export interface ApprovalRule {
  leastRisk: Risk;
  /** Who may decide beside the agent's owner. */
  deciders: NamedPerson[];
  setBy: NamedPerson;
  updatedAt: Timestamp;
}

export interface ApprovalRuleSet {
  leastRisk: Risk;
  /** 1 to 20 people. */
  deciderIds: Id[];
}

export interface AgentBudget {
  tokensPerDay: number;
  /** Input, output and written cache of the owner's day. */
  usedToday: number;
  timezone: string;
  dayEndsAt: Timestamp;
  /** Nothing more is given to it today. */
  stopped: boolean;
  /** Of today's stop: pending, continued, raised, lifted or kept; null when there was none. */
  decision: string | null;
}

/** Where a rule of two people holds: for an agent, or for every agent that asks in a workspace. */
export interface RulePlace {
  kind: "agents" | "organizations";
  id: Id;
}

const rule = (at: RulePlace) => `/api/${at.kind}/${encodeURIComponent(at.id)}/approval-rule`;
const budget = (agent: Id) => `/api/agents/${encodeURIComponent(agent)}/budget`;

/** null: one person decides. */
export async function getApprovalRule(at: RulePlace, signal?: AbortSignal | undefined): Promise<ApprovalRule | null> {
  return (await api.get<{ rule: ApprovalRule | null }>(rule(at), { signal })).rule;
}

export async function setApprovalRule(at: RulePlace, next: ApprovalRuleSet): Promise<ApprovalRule | null> {
  return (await api.put<{ rule: ApprovalRule | null }>(rule(at), next)).rule;
}

export function dropApprovalRule(at: RulePlace): Promise<unknown> {
  return api.delete(rule(at));
}

/** null: no limit. */
export async function getBudget(agent: Id, signal?: AbortSignal | undefined): Promise<AgentBudget | null> {
  return (await api.get<{ budget: AgentBudget | null }>(budget(agent), { signal })).budget;
}

export async function setBudget(agent: Id, tokensPerDay: number): Promise<AgentBudget | null> {
  return (await api.put<{ budget: AgentBudget | null }>(budget(agent), { tokensPerDay })).budget;
}

export function dropBudget(agent: Id): Promise<unknown> {
  return api.delete(budget(agent));
}
