/** Files of rooms (contract 4.6; docs/protocol.md 13). */
import { api } from "./client";
import { ApiError, kindOfStatus, readErrorBody } from "./errors";
import type { Id, RoomFile, Timestamp } from "./types";

/** What one file may have, in bytes (decision 5), and how many of them one message may show. */
export const MAX_FILE_BYTES = 25 * 1024 * 1024;
export const MAX_FILES = 10;

/** Where the bytes are, for a quarter of an hour. */
export async function fileAddress(id: Id, signal?: AbortSignal | undefined): Promise<string> {
  return ours((await api.get<{ url: string }>(`/api/files/${encodeURIComponent(id)}/download-url`, { signal })).url);
}

export const ROOM_FILES_PAGE = 20;

/** A page of what was shared in a room, newest first, older than `before`. */
export async function listRoomFiles(room: Id, before?: Timestamp | undefined, signal?: AbortSignal | undefined): Promise<RoomFile[]> {
  const query = { limit: ROOM_FILES_PAGE, before };
  return (await api.get<{ files: RoomFile[] }>(`/api/conversations/${encodeURIComponent(room)}/files`, { query, signal })).files;
}

/** Shows a copy in another room; the same key does it once. */
export function forwardFile(id: Id, conversationId: Id, idempotencyKey: string): Promise<unknown> {
  return api.post(`/api/files/${encodeURIComponent(id)}/forward`, { conversationId }, { idempotencyKey });
}

/** The message stays and says that the file is gone. */
export function deleteFile(id: Id): Promise<unknown> {
  return api.delete(`/api/files/${encodeURIComponent(id)}`);
}

export function beginUpload(
  room: Id,
  file: { filename: string; contentType: string; sizeBytes: number },
  signal: AbortSignal,
): Promise<{ uploadUrl: string; storageKey: string }> {
  return api.post(`/api/conversations/${encodeURIComponent(room)}/upload-url`, file, { signal });
}

/** Sends the bytes. `fetch` tells nothing of how far it has come. */
export function putBytes(url: string, bytes: Blob, contentType: string, onProgress: (sent: number) => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const call = new XMLHttpRequest();
    const abort = () => call.abort();
    const end = (err: ApiError | null) => {
      signal.removeEventListener("abort", abort);
      if (err) reject(err);
      else resolve();
    };
    call.open("PUT", ours(url));
    call.setRequestHeader("Content-Type", contentType);
    call.upload.onprogress = (e) => e.lengthComputable && onProgress(e.total ? e.loaded / e.total : 0);
    call.onload = () => end(call.status >= 200 && call.status < 300 ? null : refused(call));
    call.onerror = () => end(new ApiError({ kind: "offline" }));
    call.onabort = () => end(new ApiError({ kind: "aborted" }));
    signal.addEventListener("abort", abort, { once: true });
    if (signal.aborted) end(new ApiError({ kind: "aborted" }));
    else call.send(bytes);
  });
}

function refused(call: XMLHttpRequest): ApiError {
  let body: unknown;
  try {
    body = JSON.parse(call.responseText);
  } catch {
    body = undefined;
  }
  return new ApiError({ kind: kindOfStatus(call.status), status: call.status, ...readErrorBody(body), body });
}

/** The server may know itself by another name than this browser does: its own addresses are taken from where the page is from. */
function ours(address: string): string {
  const url = new URL(address, window.location.origin);
  return url.pathname.startsWith("/api/files/") ? url.pathname + url.search : address;
}
