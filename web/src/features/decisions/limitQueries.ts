import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { keys } from "#/api/keys";
import * as limits from "#/api/limits";
import type { Id } from "#/api/types";

export function useRule(at: limits.RulePlace) {
  return useQuery({ queryKey: keys.approvalRule(at.kind, at.id), queryFn: ({ signal }) => limits.getApprovalRule(at, signal) });
}

/** Sets the rule; null lets one person decide again. */
export function useSetRule(at: limits.RulePlace) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (rule: limits.ApprovalRuleSet | null) => {
      if (rule) return limits.setApprovalRule(at, rule);
      await limits.dropApprovalRule(at);
      return null;
    },
    onSuccess: (rule) => queries.setQueryData(keys.approvalRule(at.kind, at.id), rule),
  });
}

/** What was used grows while one looks. */
export function useBudget(agent: Id) {
  return useQuery({
    queryKey: keys.agents.budget(agent),
    queryFn: ({ signal }) => limits.getBudget(agent, signal),
    staleTime: 0,
    refetchInterval: 60_000,
  });
}

/** Sets the tokens of a day; null takes the limit away. A stop that was open may be over then. */
export function useSetBudget(agent: Id) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (tokens: number | null) => {
      if (tokens !== null) return limits.setBudget(agent, tokens);
      await limits.dropBudget(agent);
      return null;
    },
    onSuccess: (budget) => {
      queries.setQueryData(keys.agents.budget(agent), budget);
      void queries.invalidateQueries({ queryKey: keys.decisions.list });
    },
  });
}
