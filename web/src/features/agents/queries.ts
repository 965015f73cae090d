import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import * as agents from "#/api/agents";
import { createConversation, getConversation } from "#/api/conversations";
import { keys } from "#/api/keys";
import type { Agent, Id, Turn } from "#/api/types";
import { useHub } from "#/realtime/context";
import { forgetKey, rememberKey } from "./freshKeys";

export function useAgentList() {
  return useQuery({ queryKey: keys.agents.list, queryFn: ({ signal }) => agents.listAgents(signal) });
}

export function useAgent(id: Id) {
  return useQuery({ queryKey: keys.agents.one(id), queryFn: ({ signal }) => agents.getAgent(id, signal) });
}

export function useAgentsHealth() {
  return useQuery({ queryKey: keys.agents.health, queryFn: ({ signal }) => agents.listAgentHealth(signal), refetchInterval: 60_000 });
}

export function useAgentHealth(id: Id) {
  return useQuery({ queryKey: keys.agents.oneHealth(id), queryFn: ({ signal }) => agents.getAgentHealth(id, signal), refetchInterval: 30_000 });
}

export function useTurns(id: Id) {
  return useInfiniteQuery({
    queryKey: keys.agents.turns(id),
    queryFn: ({ signal, pageParam }) => agents.listTurns(id, pageParam, signal),
    initialPageParam: undefined as Turn | undefined,
    getNextPageParam: (last) => (last.hasMore ? last.turns[last.turns.length - 1] : undefined),
  });
}

export function useModelCatalog() {
  return useQuery({ queryKey: keys.models, queryFn: ({ signal }) => agents.modelCatalog(signal), staleTime: 10 * 60_000 });
}

export function useFieldLimits() {
  const q = useQuery({ queryKey: keys.fieldLimits, queryFn: ({ signal }) => agents.fieldLimits(signal), staleTime: Number.POSITIVE_INFINITY });
  return q.data ?? agents.DEFAULT_FIELD_LIMITS;
}

function useRefresh(id?: Id) {
  const queries = useQueryClient();
  return async () => {
    await queries.invalidateQueries({ queryKey: keys.agents.list });
    if (id) await queries.invalidateQueries({ queryKey: keys.agents.one(id) });
  };
}

export function useCreateAgent() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: agents.createAgent,
    onSuccess: ({ apiKey, ...agent }) => {
      rememberKey(agent.id, apiKey);
      queries.setQueryData<Agent>(keys.agents.one(agent.id), agent);
      return queries.invalidateQueries({ queryKey: keys.agents.list });
    },
  });
}

export function useUpdateAgent(id: Id) {
  const refresh = useRefresh(id);
  return useMutation({ mutationFn: (input: Parameters<typeof agents.updateAgent>[1]) => agents.updateAgent(id, input), onSuccess: refresh });
}

export function useUpdateSoul(id: Id) {
  const refresh = useRefresh(id);
  return useMutation({ mutationFn: (soul: string) => agents.updateSoul(id, soul), onSuccess: refresh });
}

export function useUpdateModel(id: Id) {
  const refresh = useRefresh(id);
  return useMutation({
    mutationFn: (config: Parameters<typeof agents.updateModelConfig>[1]) => agents.updateModelConfig(id, config),
    onSuccess: refresh,
  });
}

export function useRegenerateKey(id: Id) {
  const refresh = useRefresh(id);
  return useMutation({
    mutationFn: () => agents.regenerateKey(id),
    onSuccess: ({ apiKey }) => {
      rememberKey(id, apiKey);
      return refresh();
    },
  });
}

/** Switches an agent off, or on again. What it wrote and how it is set up stays. */
export function useSwitch(id: Id) {
  const queries = useQueryClient();
  const refresh = useRefresh();
  return useMutation({
    mutationFn: (on: boolean) => agents.updateAgent(id, { status: on ? "active" : "deactivated" }),
    onSuccess: (agent) => {
      queries.setQueryData<Agent>(keys.agents.one(id), agent);
      return refresh();
    },
  });
}

export function useDeleteForever(id: Id) {
  const queries = useQueryClient();
  const refresh = useRefresh();
  return useMutation({
    mutationFn: (name: string) => agents.deleteAgentForever(id, name),
    onSuccess: () => {
      forgetKey(id);
      queries.removeQueries({ queryKey: keys.agents.one(id) });
      return refresh();
    },
  });
}

export function useWake(id: Id) {
  return useMutation({ mutationFn: () => agents.wakeAgent(id) });
}

export function useStop(id: Id) {
  return useMutation({ mutationFn: () => agents.stopAgent(id) });
}

export function useUnstick(id: Id) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => agents.unstickAgent(id),
    onSuccess: () => queries.invalidateQueries({ queryKey: keys.agents.oneHealth(id) }),
  });
}

/** Finds or makes the direct room with an agent. */
export function useDirectRoom() {
  const hub = useHub();
  return useMutation({
    mutationFn: async (agentId: Id) => {
      const made = await createConversation({ type: "direct", memberIds: [agentId] });
      return made.members ? made : getConversation(made.id);
    },
    onSuccess: (room) => hub.putRoom(room),
  });
}
