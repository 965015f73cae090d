import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { modelCatalog } from "#/api/agents";
import { changePassword, listSessions, revokeSession } from "#/api/auth";
import { keys } from "#/api/keys";
import * as me from "#/api/me";
import { session } from "#/api/session";
import type { Self } from "#/api/types";

/** Takes an answer that carries the person into the session and the cache. */
function useAdopt() {
  const queries = useQueryClient();
  return (self: Self) => {
    session.update(self);
    queries.setQueryData(keys.me, self);
  };
}

export function useUpdateMe() {
  return useMutation({ mutationFn: me.updateMe, onSuccess: useAdopt() });
}

export function useSetLocale() {
  const queries = useQueryClient();
  return useMutation({ mutationFn: me.setLocale, onSuccess: () => queries.invalidateQueries({ queryKey: keys.me }) });
}

export function useSetTimezone() {
  const queries = useQueryClient();
  return useMutation({ mutationFn: me.setTimezone, onSuccess: () => queries.invalidateQueries({ queryKey: keys.me }) });
}

export function useNotificationPreferences() {
  return useQuery({ queryKey: keys.notificationPreferences, queryFn: ({ signal }) => me.getNotificationPreferences(signal) });
}

/** Switches at once, and back when the server says no. */
export function useSetNotification() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: me.setNotificationPreferences,
    onMutate: async (change) => {
      await queries.cancelQueries({ queryKey: keys.notificationPreferences });
      const before = queries.getQueryData<me.NotificationPreferences>(keys.notificationPreferences);
      queries.setQueryData<me.NotificationPreferences>(keys.notificationPreferences, (held) => ({ ...held, ...change }));
      return { before };
    },
    onError: (_err, _change, context) => queries.setQueryData(keys.notificationPreferences, context?.before),
  });
}

export function useSessions() {
  return useQuery({ queryKey: keys.sessions, queryFn: ({ signal }) => listSessions(signal), staleTime: 0 });
}

export function useRevokeSession() {
  const queries = useQueryClient();
  return useMutation({ mutationFn: revokeSession, onSuccess: () => queries.invalidateQueries({ queryKey: keys.sessions }) });
}

export function useChangePassword() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (input: { current: string; next: string }) => changePassword(input.current, input.next),
    onSuccess: () => queries.invalidateQueries({ queryKey: keys.sessions }),
  });
}

export function useDeleteMe() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => me.deleteMe("DELETE"),
    onSuccess: () => {
      queries.clear();
      session.end("signed_out");
    },
  });
}

export function useLlmKeys() {
  return useQuery({ queryKey: keys.llmKeys, queryFn: ({ signal }) => me.listLlmKeys(signal) });
}

export function useKeyProviders() {
  const q = useQuery({ queryKey: keys.models, queryFn: ({ signal }) => modelCatalog(signal), staleTime: 10 * 60_000 });
  return q.data?.llmKeyProviders ?? q.data?.providers.filter((p) => p.requiresLlmKey).map((p) => ({ id: p.id, label: p.label })) ?? fallbackProviders;
}

const fallbackProviders = [
  { id: "anthropic", label: "Anthropic" },
  { id: "openai", label: "OpenAI" },
];

function useKeyMutation<T>(fn: (input: T) => Promise<unknown>) {
  const queries = useQueryClient();
  return useMutation({ mutationFn: fn, onSuccess: () => queries.invalidateQueries({ queryKey: keys.llmKeys }) });
}

export const useAddKey = () => useKeyMutation(me.addLlmKey);
export const useMakeDefault = () => useKeyMutation((id: string) => me.makeLlmKeyDefault(id));
export const useDeleteKey = () => useKeyMutation((id: string) => me.deleteLlmKey(id));
