import type { QueryClient, QueryKey } from "@tanstack/react-query";

/**
 * Reads again what has become old. What is being read for the first time is begun anew:
 * its answer may be older than the news, and invalidation alone would let it stand.
 */
export async function renew(queries: QueryClient, queryKey: QueryKey): Promise<void> {
  const first = queries.getQueryCache().findAll({ queryKey, fetchStatus: "fetching", predicate: (q) => q.state.data === undefined });
  await Promise.all(first.map((q) => queries.cancelQueries({ queryKey: q.queryKey, exact: true })));
  await queries.invalidateQueries({ queryKey });
}
