import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { createAgent, getAgent, getLocalSetup, runLocalSetup } from "#/api/agents";
import { createConversation, getConversation } from "#/api/conversations";
import { isApiError } from "#/api/errors";
import { keys } from "#/api/keys";
import type { Id, LocalBackend, LocalSetup } from "#/api/types";
import { useHub } from "#/realtime/context";

const nothingHere: LocalSetup = { demoAgentId: null, offers: [] };

/** What this machine offers. A server that is not a development server offers nothing, which is no error. */
export function useLocalSetup() {
  return useQuery({
    queryKey: keys.localSetup,
    queryFn: ({ signal }) =>
      getLocalSetup(signal).catch((err: unknown) => {
        if (isApiError(err) && err.kind !== "expired") return nothingHere;
        throw err;
      }),
    staleTime: 60_000,
  });
}

export function useMakeHere() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (backend: LocalBackend) => runLocalSetup(backend),
    onSuccess: () => queries.invalidateQueries({ queryKey: keys.agents.list }),
  });
}

export function useMakeRemote() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (displayName: string) => createAgent({ displayName }),
    onSuccess: () => queries.invalidateQueries({ queryKey: keys.agents.list }),
  });
}

export function useGuideAgent(id: Id) {
  return useQuery({ queryKey: keys.agents.one(id), queryFn: ({ signal }) => getAgent(id, signal) });
}

export function useOpenRoom() {
  const hub = useHub();
  return useMutation({
    mutationFn: async (agentId: Id) => {
      const made = await createConversation({ type: "direct", memberIds: [agentId] });
      return made.members ? made : getConversation(made.id);
    },
    onSuccess: (room) => hub.putRoom(room),
  });
}
