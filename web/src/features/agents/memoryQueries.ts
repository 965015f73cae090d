import { keepPreviousData, useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { keys } from "#/api/keys";
import * as memory from "#/api/memory";
import type { Agent, Id } from "#/api/types";
import { useUserEvents } from "#/realtime/useChannel";

const keyOf = (whose: memory.Whose) => ("agent" in whose ? keys.agents.memories(whose.agent) : keys.sharedMemories);

export function useMemories(whose: memory.Whose, filter: memory.MemoryFilter) {
  return useInfiniteQuery({
    queryKey: [...keyOf(whose), whose, filter.q.trim(), filter.category],
    queryFn: ({ signal, pageParam }) => memory.listMemories(whose, filter, pageParam, signal),
    initialPageParam: 0,
    getNextPageParam: (last, pages) => (last.hasMore ? pages.reduce((n, p) => n + p.memories.length, 0) : undefined),
    placeholderData: keepPreviousData, // a longer word narrows what is there
  });
}

/** What agents keep while the page is open is there at once. */
export function useMemoryEvents(): void {
  const queries = useQueryClient();
  useUserEvents((event, payload) => {
    if (event !== "memory_saved") return;
    const agent = payload["agentId"];
    void queries.invalidateQueries({
      queryKey: payload["scope"] === "family" || typeof agent !== "string" ? keys.sharedMemories : keys.agents.memories(agent),
    });
  });
}

function useChanged(whose: memory.Whose) {
  const queries = useQueryClient();
  return () => queries.invalidateQueries({ queryKey: keyOf(whose) });
}

export function useSaveMemory(whose: memory.Whose, known: memory.Memory | undefined) {
  const onSuccess = useChanged(whose);
  return useMutation({
    mutationFn: (input: memory.MemoryInput) => (known ? memory.editMemory(whose, known, input) : memory.addMemory(whose, input)),
    onSuccess,
  });
}

export function useRemoveMemory(whose: memory.Whose) {
  const onSuccess = useChanged(whose);
  return useMutation({ mutationFn: (id: Id) => memory.removeMemory(whose, id), onSuccess });
}

export function useFormerSouls(agent: Id, open: boolean) {
  return useQuery({
    queryKey: keys.agents.souls(agent),
    queryFn: ({ signal }) => memory.listFormerSouls(agent, signal),
    enabled: open,
    staleTime: 0,
  });
}

export function useRevertSoul(agent: Id) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (version: string) => memory.revertSoul(agent, version),
    onSuccess: (now) => {
      queries.setQueryData<Agent>(keys.agents.one(agent), now);
      return queries.invalidateQueries({ queryKey: keys.agents.souls(agent) });
    },
  });
}
