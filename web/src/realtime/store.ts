/** A value outside React that components may watch. Setting the same value tells nobody. */
import { useCallback, useRef, useSyncExternalStore } from "react";

export interface Store<T> {
  get(): T;
  set(next: T): void;
  update(fn: (current: T) => T): void;
  subscribe(listener: () => void): () => void;
}

export function createStore<T>(initial: T): Store<T> {
  let value = initial;
  const listeners = new Set<() => void>();
  const set = (next: T) => {
    if (Object.is(next, value)) return;
    value = next;
    for (const listener of [...listeners]) listener();
  };
  return {
    get: () => value,
    set,
    update: (fn) => set(fn(value)),
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Watches a part of a store; the component renders again only when that part changes (`equal`, by default identity). */
export function useStore<T, U>(store: Store<T>, select: (value: T) => U, equal: (a: U, b: U) => boolean = Object.is): U {
  const last = useRef<{ value: U } | null>(null);
  const read = useCallback(() => {
    const next = select(store.get());
    if (last.current && equal(last.current.value, next)) return last.current.value;
    last.current = { value: next };
    return next;
  }, [store, select, equal]);
  return useSyncExternalStore(store.subscribe, read, read);
}

/** Equality of lists by their elements. */
export function sameList<T>(a: readonly T[], b: readonly T[]): boolean {
  return a === b || (a.length === b.length && a.every((x, i) => Object.is(x, b[i])));
}
