/**
 * Keys that were just made, so that the page after creating can show them. In memory only: a reload, a sign-out or leaving the page by its button
 * forgets them, and nothing can show them again.
 */
import type { Id } from "#/api/types";
import { createStore } from "#/realtime/store";

export const freshKeys = createStore<ReadonlyMap<Id, string>>(new Map());

export function rememberKey(agentId: Id, apiKey: string): void {
  freshKeys.update((m) => new Map(m).set(agentId, apiKey));
}

export function forgetKey(agentId: Id): void {
  freshKeys.update((m) => {
    if (!m.has(agentId)) return m;
    const next = new Map(m);
    next.delete(agentId);
    return next;
  });
}
