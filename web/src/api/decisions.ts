/** What agents ask people: permission to run something, secrets, open questions (contract 4.9; docs/protocol.md 9). */
import { api } from "./client";
import type { ApprovalGrant, CredentialRequest, Decision, Id, PastDecisions, PermissionRequest } from "./types";

export async function listPermissionRequests(signal?: AbortSignal | undefined): Promise<PermissionRequest[]> {
  return (await api.get<{ requests: PermissionRequest[] }>("/api/permission-requests", { signal })).requests;
}

export interface Verdict {
  decision: "approve" | "deny" | "edit";
  scope?: string;
  grantDays?: number;
  text?: string;
  input?: unknown;
  /** What the person saw: nobody allows what is not on their screen. */
  actionHash?: string;
}

export function resolvePermission(id: Id, verdict: Verdict): Promise<PermissionRequest> {
  return api.post(`/api/permission-requests/${encodeURIComponent(id)}/resolve`, { always: false, ...verdict });
}

export async function listGrants(signal?: AbortSignal | undefined): Promise<ApprovalGrant[]> {
  return (await api.get<{ grants: ApprovalGrant[] }>("/api/approval-grants", { signal })).grants;
}

export function revokeGrant(id: Id): Promise<unknown> {
  return api.delete(`/api/approval-grants/${encodeURIComponent(id)}`);
}

export async function listCredentialRequests(given: boolean, signal?: AbortSignal | undefined): Promise<CredentialRequest[]> {
  return (await api.get<{ requests: CredentialRequest[] }>("/api/credential-requests", { query: { state: given ? "given" : undefined }, signal }))
    .requests;
}

const credential = (id: Id) => `/api/credential-requests/${encodeURIComponent(id)}`;

export function fulfilCredential(id: Id, value: string): Promise<CredentialRequest> {
  return api.post(`${credential(id)}/fulfill`, { value });
}

export function declineCredential(id: Id): Promise<unknown> {
  return api.delete(credential(id));
}

/** The agent can use it no more. */
export function forgetCredential(id: Id): Promise<unknown> {
  return api.delete(`${credential(id)}/secret`);
}

/** Everything that waits, of every kind. */
export async function listDecisions(signal?: AbortSignal | undefined): Promise<Decision[]> {
  return (await api.get<{ decisions: Decision[] }>("/api/me/decisions", { signal })).decisions;
}

/** What waited and is over, of every kind, newest first; `before` is `next` of the page before. */
export function listPast(before?: string | undefined, signal?: AbortSignal | undefined): Promise<PastDecisions> {
  return api.get("/api/me/decisions", { query: { state: "decided", before, limit: 30 }, signal });
}

export function resolveMember(id: Id, yes: boolean): Promise<unknown> {
  return api.post(`/api/member-requests/${encodeURIComponent(id)}/resolve`, { decision: yes ? "approve" : "deny" });
}

export interface StopVerdict {
  decision: "continue" | "raise" | "keep";
  tokensPerDay?: number;
}

export function resolveStop(id: Id, verdict: StopVerdict): Promise<unknown> {
  return api.post(`/api/budget-stops/${encodeURIComponent(id)}/resolve`, verdict);
}

/** The run of the task goes on with it, once. */
export function answerAsk(taskId: Id, askId: Id, answer: string): Promise<unknown> {
  return api.post(`/api/tasks/${encodeURIComponent(taskId)}/asks/${encodeURIComponent(askId)}/answer`, { answer });
}
