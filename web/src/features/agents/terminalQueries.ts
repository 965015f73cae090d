import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import * as external from "#/api/external";
import { keys } from "#/api/keys";
import type { Id } from "#/api/types";

/** Invites that can still be claimed. */
export function useOpenInvites(enabled: boolean) {
  return useQuery({
    queryKey: keys.invites,
    queryFn: ({ signal }) => external.listInvites(signal),
    select: (all) => all.filter((i) => i.status === "pending"),
    enabled,
  });
}

/** What became of one invite; undefined until that is known. */
export function useInviteStatus(id: Id | undefined) {
  return useQuery({
    queryKey: keys.invites,
    queryFn: ({ signal }) => external.listInvites(signal),
    select: (all) => all.find((i) => i.id === id)?.status,
    enabled: id !== undefined,
  }).data;
}

export function useCreateInvite() {
  const queries = useQueryClient();
  return useMutation({ mutationFn: external.createInvite, onSuccess: () => queries.invalidateQueries({ queryKey: keys.invites }) });
}

export function useRevokeInvite() {
  const queries = useQueryClient();
  return useMutation({ mutationFn: external.revokeInvite, onSuccess: () => queries.invalidateQueries({ queryKey: keys.invites }) });
}
