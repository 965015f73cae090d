import { type QueryClient, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import * as decisions from "#/api/decisions";
import { keys } from "#/api/keys";
import type { CredentialRequest, Decision, Id, PermissionRequest } from "#/api/types";
import { useSelf } from "#/lib/self";
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

/** Questions of tasks, members that agents want in rooms, days without tokens; the other kinds have lists of their own, with everything in them. */
function useDecisions() {
  return useQuery({
    queryKey: keys.decisions.list,
    queryFn: ({ signal }) => decisions.listDecisions(signal),
    // Their tasks tell the requester; others who were asked hear of it here.
    refetchInterval: 60_000,
  });
}

/** Open questions of tasks. */
export function useAsks(): Decision[] | undefined {
  return useDecisions().data?.filter((d) => d.kind === "ask");
}

/** Whom agents want in a room. */
export function useSeats(roomId: Id): Decision[] {
  return useDecisions().data?.filter((d) => d.kind === "member_request" && d.conversationId === roomId) ?? [];
}

export function useGrants() {
  return useQuery({ queryKey: keys.decisions.grants, queryFn: ({ signal }) => decisions.listGrants(signal) });
}

/** What waited and is over, page by page, newest first. */
export function usePast() {
  return useInfiniteQuery({
    queryKey: keys.decisions.past,
    queryFn: ({ signal, pageParam }) => decisions.listPast(pageParam, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last) => last.next ?? undefined,
  });
}

interface Item {
  id: Id;
  agent: { id: Id; name: string };
  expiresAt: string;
}

/** One thing that waits, of whatever kind, with what its card needs. */
export type Waiting = Item &
  (
    | { kind: "request"; request: PermissionRequest }
    | { kind: "ask" | "member" | "stop"; decision: Decision }
    | { kind: "secret"; secret: CredentialRequest }
  );

const kinds: Record<string, "ask" | "member" | "stop"> = { ask: "ask", member_request: "member", budget_stop: "stop" };

/** Everything that waits for the person, what ends first on top; what only a second person can still allow is last. */
export function useWaiting() {
  const self = useSelf();
  const requests = usePending();
  const list = useDecisions();
  const secrets = useCredentials();
  const items = useMemo(() => {
    const all: Waiting[] = [
      ...(requests.data ?? []).map((request): Waiting => {
        const { id, agentId, agentName, expiresAt } = request;
        return { kind: "request", id, agent: { id: agentId, name: agentName ?? "" }, expiresAt, request };
      }),
      ...(list.data ?? []).flatMap((decision): Waiting[] => {
        const kind = kinds[decision.kind];
        const agent = { id: decision.agent?.id ?? "", name: decision.agent?.displayName ?? "" };
        return kind ? [{ kind, id: decision.sourceId, agent, expiresAt: decision.expiresAt ?? "", decision }] : [];
      }),
      ...(secrets.data ?? []).map((secret): Waiting => {
        const { id, agentId, agentName, expiresAt } = secret;
        return { kind: "secret", id, agent: { id: agentId, name: agentName ?? "" }, expiresAt, secret };
      }),
    ];
    const order = (w: Waiting) => `${isAllowed(w, self.id) ? 1 : 0} ${w.expiresAt} ${w.id}`;
    return all.sort((a, b) => (order(a) < order(b) ? -1 : 1));
  }, [requests.data, list.data, secrets.data, self.id]);
  const parts = [requests, list, secrets];
  return {
    items,
    isPending: parts.some((q) => q.isPending),
    error: parts.find((q) => q.error)?.error ?? null,
    retry: () => void Promise.all(parts.filter((q) => q.error).map((q) => q.refetch())),
  };
}

/** This person has said yes: another one is waited for. */
function isAllowed(w: Waiting, self: Id): boolean {
  return w.kind === "request" && (w.request.allowedBy?.includes(self) ?? false);
}

/** How much waits for the person, for badges. */
export function useWaitingCount(): number {
  const self = useSelf();
  return useWaiting().items.filter((w) => !isAllowed(w, self.id)).length;
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
        void queries.invalidateQueries({ queryKey: keys.decisions.past });
        void queries.invalidateQueries({ queryKey: keys.decisions.grants });
        break;
      case "credential_request":
      case "credential_request_resolved":
        void queries.invalidateQueries({ queryKey: keys.decisions.credentials });
        void queries.invalidateQueries({ queryKey: keys.decisions.given });
        void queries.invalidateQueries({ queryKey: keys.decisions.past });
        break;
      case "budget_stop":
        void queries.invalidateQueries({ queryKey: keys.agents.budget(String(payload["agentId"])) });
        void queries.invalidateQueries({ queryKey: keys.decisions.list });
        void queries.invalidateQueries({ queryKey: keys.decisions.past });
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
        void queries.invalidateQueries({ queryKey: keys.decisions.list });
        void queries.invalidateQueries({ queryKey: keys.decisions.past });
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
      void queries.invalidateQueries({ queryKey: keys.decisions.past });
      if (done.grantId) void queries.invalidateQueries({ queryKey: keys.decisions.grants });
    },
    // Somebody or the clock was faster: what is shown is old.
    onError: () => queries.invalidateQueries({ queryKey: keys.decisions.pending }),
  });
}

/** Reads again what waits, then what is over: the card is gone when the answer of the caller's mutation is. */
async function readAgain(queries: QueryClient, ...lists: readonly (readonly string[])[]): Promise<void> {
  void queries.invalidateQueries({ queryKey: keys.decisions.past });
  await Promise.all(lists.map((queryKey) => queries.invalidateQueries({ queryKey })));
}

export function useMemberDecision() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id, yes }: { id: Id; yes: boolean }) => decisions.resolveMember(id, yes),
    onSettled: () => readAgain(queries, keys.decisions.list),
  });
}

/** To raise the limit changes the agent's budget too. */
export function useStopDecision() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ id, agentId: _, ...verdict }: { id: Id; agentId: Id } & decisions.StopVerdict) => decisions.resolveStop(id, verdict),
    onSettled: async (_done, _err, { agentId }) => {
      void queries.invalidateQueries({ queryKey: keys.agents.budget(agentId) });
      await readAgain(queries, keys.decisions.list);
    },
  });
}

export function useRevoke() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (id: Id) => decisions.revokeGrant(id),
    onSettled: () => readAgain(queries, keys.decisions.grants),
  });
}

function useCredentialChange<V>(mutationFn: (v: V) => Promise<unknown>) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn,
    onSettled: () => readAgain(queries, keys.decisions.credentials, keys.decisions.given),
  });
}

export function useAnswer() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ taskId, askId, answer }: { taskId: Id; askId: Id; answer: string }) => decisions.answerAsk(taskId, askId, answer),
    onSettled: () => readAgain(queries, keys.decisions.list),
  });
}

export const useFulfil = () => useCredentialChange(({ id, value }: { id: Id; value: string }) => decisions.fulfilCredential(id, value));
export const useDecline = () => useCredentialChange((id: Id) => decisions.declineCredential(id));
export const useForget = () => useCredentialChange((id: Id) => decisions.forgetCredential(id));
