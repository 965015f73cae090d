/** Sends the bytes of files of the outbox, each once, with progress and a way to stop. What is sent stays known by its key until it is dropped. */
import { ApiError, isApiError } from "#/api/errors";
import type { Id } from "#/api/types";
import type { FileBox } from "./fileBox";
import type { OutboxFile } from "./outbox";
import { createStore } from "./store";

export interface UploadApi {
  /** Where the bytes go, and the name that the message gives for them. */
  begin(
    room: Id,
    file: { filename: string; contentType: string; sizeBytes: number },
    signal: AbortSignal,
  ): Promise<{ uploadUrl: string; storageKey: string }>;
  put(url: string, bytes: Blob, contentType: string, onProgress: (sent: number) => void, signal: AbortSignal): Promise<void>;
}

export class Uploads {
  /** How much of a file has been sent, 0 to 1, by its key, while it is being sent. */
  readonly progress = createStore<ReadonlyMap<string, number>>(new Map());
  readonly #api: UploadApi;
  readonly #box: FileBox;
  readonly #running = new Map<string, { done: Promise<string>; stop: AbortController }>();

  constructor(api: UploadApi, box: FileBox) {
    this.#api = api;
    this.#box = box;
  }

  hold(key: string, file: Blob): void {
    this.#box.put(key, file);
  }

  bytes(key: string): Promise<Blob | null> {
    return this.#box.get(key);
  }

  /** The storage key of the file. Several calls at once are one upload. Rejects with an ApiError; `file_lost`: the bytes are not here any more. */
  send(room: Id, file: OutboxFile): Promise<string> {
    const running = this.#running.get(file.key);
    if (running) return running.done;
    const stop = new AbortController();
    const done = this.#send(room, file, stop.signal).finally(() => {
      this.#running.delete(file.key);
      this.#tell(file.key, null);
    });
    this.#running.set(file.key, { done, stop });
    return done;
  }

  /** Stops what is on its way and forgets the bytes. */
  drop(files: readonly OutboxFile[]): void {
    for (const f of files) {
      this.#running.get(f.key)?.stop.abort();
      this.#box.drop(f.key);
    }
  }

  async #send(room: Id, file: OutboxFile, signal: AbortSignal): Promise<string> {
    const bytes = await this.#box.get(file.key);
    if (!bytes) throw new ApiError({ kind: "invalid", code: "file_lost" });
    this.#tell(file.key, 0);
    const to = await this.#api.begin(room, { filename: file.filename, contentType: file.contentType, sizeBytes: file.sizeBytes }, signal);
    await this.#api.put(to.uploadUrl, bytes, file.contentType, (sent) => this.#tell(file.key, sent), signal);
    return to.storageKey;
  }

  #tell(key: string, sent: number | null): void {
    this.progress.update((held) => {
      const next = new Map(held);
      if (sent === null) next.delete(key);
      else next.set(key, sent);
      return next;
    });
  }
}

/** Trying again may help: the connection broke, or the server is busy. */
export function isPassing(err: unknown): boolean {
  return !isApiError(err) || err.code === "address_expired" || ["offline", "timeout", "server", "rate_limited", "unavailable"].includes(err.kind);
}
