/** Files of rooms (contract 4.6). */
import { api } from "./client";
import type { Id } from "./types";

/** Where the bytes are, for a quarter of an hour. */
export async function fileAddress(id: Id): Promise<string> {
  return (await api.get<{ url: string }>(`/api/files/${encodeURIComponent(id)}/download-url`)).url;
}
