import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import * as decisions from "#/api/decisions";
import { keys } from "#/api/keys";
import type { CredentialRequest, Id, PermissionRequest } from "#/api/types";
import { useConnection } from "#/realtime/hooks";
import { useUserEvents } from "#/realtime/useChannel";
import { withoutRequest, withRequest } from "./lists";

export function usePending() {
  return useQuery({ queryKey: keys.decisions.pending, queryFn: ({ signal }) => decisions.listPermissionRequests(signal) });
}

export function useCredentials() {
  return useQuery({ queryKey: keys.decisions.credentials, queryFn: ({ signal }) => decisions.listCredentialRequests(false, signal) });
}

export function useGiven() {
  return useQuery({ queryKey: keys.decisions.given, queryFn: ({ signal }) => decisions.listCredentialRequests(true, signal) });
}

/** Open questions of tasks; the other kinds have lists of their own, with everything in them. */
export function useAsks() {
  return useQuery({
    queryKey: keys.decisions.list,
    queryFn: ({ signal }) => decisions.listDecisions(signal),
    select: (all) => all.filter((d) => d.kind === "ask"),
    // Their tasks tell the requester; others who were asked hear of it here.
    refetchInterval: 60_000,
  });
}

/** What else waits: members that agents want in rooms, and days without tokens. */
export function useChoices() {
  return useQuery({
    queryKey: keys.decisions.list,
    queryFn: ({ signal }) => decisions.listDecisions(signal),
    select: (all) => all.filter((d) => d.kind === "member_request" || d.kind === "budget_stop"),
  });
}

export function useGrants() {
  return useQuery({ queryKey: keys.decisions.grants, queryFn: ({ signal }) => decisions.listGrants(signal) });
}

export function useDecided() {
  return useInfiniteQuery({
    queryKey: keys.decisions.decided,
    queryFn: ({ signal, pageParam }) => decisions.listDecided(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => (last.hasMore ? (last.requests[last.requests.length - 1]?.decidedAt ?? undefined) : undefined),
  });
}

export function useAnswered() {
  return useInfiniteQuery({
    queryKey: keys.decisions.answered,
    queryFn: ({ signal, pageParam }) => decisions.listAnswered(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => (last.hasMore ? last.asks[last.asks.length - 1]?.endedAt : undefined),
  });
}

/** How much waits for the person, for badges. */
export function useWaitingCount(): number {
  return (usePending().data?.length ?? 0) + (useCredentials().data?.length ?? 0) + (useAsks().data?.length ?? 0) + (useChoices().data?.length ?? 0);
}

/** Keeps the lists true by what the socket says, and reads them again after a gap. Mounted once, with the shell. */
export function useDecisionEvents(): void {
  const queries = useQueryClient();
  const { state } = useConnection();
  useUserEvents((event, payload) => {
    switch (event) {
      case "permission_request":
        queries.setQueryData<PermissionRequest[]>(keys.decisions.pending, (old) => withRequest(old, payload as unknown as PermissionRequest));
        break;
      case "permission_resolved":
        queries.setQueryData<PermissionRequest[]>(keys.decisions.pending, (old) => withoutRequest(old, String(payload["id"])));
        void queries.invalidateQueries({ queryKey: keys.decisions.decided });
        void queries.invalidateQueries({ queryKey: keys.decisions.grants });
        break;
      case "credential_request":
      case "credential_request_resolved":
        void queries.invalidateQueries({ queryKey: keys.decisions.credentials });
        void queries.invalidateQueries({ queryKey: keys.decisions.given });
        break;
      case "budget_stop":
        void queries.invalidateQueries({ queryKey: keys.agents.budget(String(payload["agentId"])) });
        void queries.invalidateQueries({ queryKey: keys.decisions.list });
        break;
      case "conversation_updated": {
        // A question to somebody who did not ask for the task: their rooms tell it.
        const message = payload["lastMessage"] as { metadata?: Record<string, unknown> } | undefined;
        if (message?.metadata?.["ask_id"] || message?.metadata?.["task_id"]) void queries.invalidateQueries({ queryKey: keys.decisions.list });
        break;
      }
      case "member_request":
      case "task_updated":
      case "task_completed":
        if (event !== "member_request") void queries.invalidateQueries({ queryKey: keys.decisions.answered });
        void queries.invalidateQueries({ queryKey: keys.decisions.list });
        break;
      default:
        return;
    }
  });
  useEffect(() => {
    if (state === "online") void queries.invalidateQueries({ queryKey: keys.decisions.all });
  }, [state, queries]);
}

export function useResolve() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id, ...verdict }: { id: Id } & decisions.Verdict) => decisions.resolvePermission(id, verdict),
    onSuccess: (done) => {
      const open = done.status === "pending"; // it waits for a second person
      queries.setQueryData<PermissionRequest[]>(keys.decisions.pending, (old) => (open ? withRequest(old, done) : withoutRequest(old, done.id)));
      void queries.invalidateQueries({ queryKey: keys.decisions.decided });
      if (done.grantId) void queries.invalidateQueries({ queryKey: keys.decisions.grants });
    },
    // Somebody or the clock was faster: what is shown is old.
    onError: () => queries.invalidateQueries({ queryKey: keys.decisions.pending }),
  });
}

function useChoice<V>(mutationFn: (v: V) => Promise<unknown>) {
  const queries = useQueryClient();
  return useMutation({ mutationFn, onSettled: () => queries.invalidateQueries({ queryKey: keys.decisions.list }) });
}

export const useMemberDecision = () => useChoice(({ id, yes }: { id: Id; yes: boolean }) => decisions.resolveMember(id, yes));
/** To raise the limit changes the agent's budget too. */
export function useStopDecision() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id, agentId: _, ...verdict }: { id: Id; agentId: Id } & decisions.StopVerdict) => decisions.resolveStop(id, verdict),
    onSettled: async (_done, _err, { agentId }) => {
      void queries.invalidateQueries({ queryKey: keys.agents.budget(agentId) });
      await queries.invalidateQueries({ queryKey: keys.decisions.list });
    },
  });
}

export function useRevoke() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: Id) => decisions.revokeGrant(id),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.decisions.grants }),
  });
}

function useCredentialChange<V>(mutationFn: (v: V) => Promise<unknown>) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn,
    onSettled: async () => {
      await queries.invalidateQueries({ queryKey: keys.decisions.credentials });
      await queries.invalidateQueries({ queryKey: keys.decisions.given });
    },
  });
}

export function useAnswer() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ taskId, askId, answer }: { taskId: Id; askId: Id; answer: string }) => decisions.answerAsk(taskId, askId, answer),
    onSettled: async () => {
      void queries.invalidateQueries({ queryKey: keys.decisions.answered });
      await queries.invalidateQueries({ queryKey: keys.decisions.list });
    },
  });
}

export const useFulfil = () => useCredentialChange(({ id, value }: { id: Id; value: string }) => decisions.fulfilCredential(id, value));
export const useDecline = () => useCredentialChange((id: Id) => decisions.declineCredential(id));
export const useForget = () => useCredentialChange((id: Id) => decisions.forgetCredential(id));

export type { CredentialRequest, PermissionRequest };
