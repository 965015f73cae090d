import { QueryClient } from "@tanstack/react-query";
import { isApiError } from "#/api/errors";

/** The one cache of server data. Events keep it fresh, so nothing is refetched just because a window came to the front. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 30_000,
      refetchOnWindowFocus: false,
      retry: (failures, error) => isApiError(error) && error.retryable && failures < 2,
    },
    mutations: { retry: false },
  },
});
