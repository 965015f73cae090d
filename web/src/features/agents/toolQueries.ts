import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { keys } from "#/api/keys";
import * as tools from "#/api/tools";
import type { Id } from "#/api/types";

export function useAgentTools(id: Id) {
  return useQuery({ queryKey: keys.agents.tools(id), queryFn: ({ signal }) => tools.listAgentTools(id, signal) });
}

/** Switches at once, and back when the server says no. */
export function useChooseTool(id: Id) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: ({ tool, on }: { tool: string; on: boolean }) => tools.chooseTool(id, tool, on),
    onMutate: async ({ tool, on }) => {
      await queries.cancelQueries({ queryKey: keys.agents.tools(id) });
      const before = queries.getQueryData<tools.AgentTool[]>(keys.agents.tools(id));
      queries.setQueryData<tools.AgentTool[]>(keys.agents.tools(id), (held) =>
        held?.map((x) => (x.name === tool ? { ...x, allowed: on, enabled: on } : x)),
      );
      return { before };
    },
    onError: (_err, _change, context) => queries.setQueryData(keys.agents.tools(id), context?.before),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.agents.tools(id) }),
  });
}

export function useToolCalls(id: Id) {
  return useQuery({ queryKey: keys.agents.toolCalls(id), queryFn: ({ signal }) => tools.listToolCalls(id, signal), staleTime: 0 });
}

export function useAgentUsage(id: Id) {
  return useQuery({ queryKey: keys.agents.usage(id), queryFn: ({ signal }) => tools.agentUsage(id, signal) });
}
