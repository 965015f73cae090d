import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { listAgents } from "#/api/agents";
import { keys } from "#/api/keys";
import * as tools from "#/api/tools";
import type { Id } from "#/api/types";

export function useServices() {
  return useQuery({ queryKey: keys.services, queryFn: ({ signal }) => tools.listServices(signal) });
}

export function useSaveService(id: Id | undefined) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (input: tools.ServiceInput) => (id ? tools.editService(id, input) : tools.addService(input)),
    onSuccess: () => queries.invalidateQueries({ queryKey: keys.services }),
  });
}

export function useRemoveService() {
  const queries = useQueryClient();
  return useMutation({ mutationFn: tools.removeService, onSuccess: () => queries.invalidateQueries({ queryKey: keys.services }) });
}

export function useOwnAgents() {
  return useQuery({ queryKey: keys.agents.list, queryFn: ({ signal }) => listAgents(signal) });
}
