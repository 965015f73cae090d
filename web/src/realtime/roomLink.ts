/**
 * One room followed live: its channel while somebody looks (or has something to send), its state, its streams; fetching what is missing. The folding is
 * in `applyEvent.ts` and `streams.ts`; here is only when to ask.
 */
import { ApiError, isApiError } from "#/api/errors";
import type { ChangesPage, Id, Message, Timestamp } from "#/api/types";
import { applyChanges, applyEvent, drain, isPersisted, setVersion } from "./applyEvent";
import { emptyRoom, mergePage, mergeSnapshot, type RoomState, restart, type SeqEvent } from "./room";
import { type ChannelPort, isInternal, type PushPort, readReply } from "./socket";
import { createStore } from "./store";
import { foldFrame, messageLanded, nextSweep, noStreams, type StreamFrame, sweepStreams } from "./streams";

export interface RoomView {
  /** `error` only while there is nothing to show. */
  status: "loading" | "ready" | "error";
  error: ApiError | null;
  room: RoomState;
  loadingOlder: boolean;
  olderError: ApiError | null;
}

export interface RoomDeps {
  channel: (topic: string) => ChannelPort;
  isConnected: () => boolean;
  listMessages: (id: Id, before?: Timestamp) => Promise<{ messages: Message[]; seq?: number | undefined }>;
  listChanges: (id: Id, after: number) => Promise<ChangesPage>;
  pageSize: number;
  now: () => number;
  /** Every event of the topic, after the room took it. */
  onEvent: (id: Id, event: string, payload: Record<string, unknown>) => void;
  onMessage: (message: Message) => void;
  onJoined: (id: Id) => void;
  /** The room may not be joined. */
  onRefused: (id: Id, code: string) => void;
}

/** A snapshot that takes longer than this is not waited for: the first page is fetched instead. */
const SNAPSHOT_WAIT_MS = 1_200;
/** A room that is opened again soon stays joined. */
const LINGER_MS = 20_000;
const HEAL_RETRY_MS = [500, 1500, 4000, 10_000];
const closedCodes = new Set(["unauthorized", "forbidden", "not_found"]);

export class RoomLink {
  readonly id: Id;
  readonly view = createStore<RoomView>({ status: "loading", error: null, room: emptyRoom, loadingOlder: false, olderError: null });
  readonly streams = createStore(noStreams);
  readonly #deps: RoomDeps;
  #channel: ChannelPort | null = null;
  #refs = 0;
  #leaveTimer: ReturnType<typeof setTimeout> | null = null;
  #snapshotTimer: ReturnType<typeof setTimeout> | null = null;
  #sweepTimer: ReturnType<typeof setTimeout> | null = null;
  #healTimer: ReturnType<typeof setTimeout> | null = null;
  #healing = false;
  #healTries = 0;
  #closed = false;

  constructor(id: Id, deps: RoomDeps) {
    this.id = id;
    this.#deps = deps;
  }

  get held(): boolean {
    return this.#refs > 0 || this.#leaveTimer !== null;
  }

  get joined(): boolean {
    return this.#channel?.state === "joined" && this.#deps.isConnected();
  }

  /** Joins while held. Give it back with `release`. */
  acquire(): void {
    this.#refs++;
    if (this.#leaveTimer) clearTimeout(this.#leaveTimer);
    this.#leaveTimer = null;
    if (!this.#channel && !this.#closed) this.#join();
  }

  release(onIdle: () => void): void {
    this.#refs--;
    if (this.#refs > 0 || this.#closed) return;
    this.#leaveTimer = setTimeout(() => {
      this.#leaveTimer = null;
      this.#leave();
      onIdle();
    }, LINGER_MS);
  }

  /** Leaves at once and for good. */
  close(): void {
    this.#closed = true;
    for (const t of [this.#leaveTimer, this.#sweepTimer, this.#healTimer]) if (t) clearTimeout(t);
    this.#leaveTimer = null;
    this.#leave();
  }

  push(event: string, payload: object, timeoutMs?: number): PushPort | null {
    return this.joined && this.#channel ? this.#channel.push(event, payload, timeoutMs) : null;
  }

  /** The room is not ours to see, or is gone. */
  fail(error: ApiError): void {
    this.#leave();
    this.view.update((v) => ({ ...v, status: "error", error }));
    this.#deps.onRefused(this.id, error.code || error.kind);
  }

  retry(): void {
    this.view.update((v) => ({ ...v, status: v.room.rows.size ? "ready" : "loading", error: null }));
    if (!this.#channel && this.#refs > 0) this.#join();
    else void this.#firstPage();
  }

  async loadOlder(): Promise<void> {
    const { room, loadingOlder } = this.view.get();
    const oldest = room.rows.get(room.order[0] ?? "");
    if (loadingOlder || room.start === "reached" || !oldest) return;
    this.view.update((v) => ({ ...v, loadingOlder: true, olderError: null }));
    try {
      const page = await this.#deps.listMessages(this.id, oldest.insertedAt);
      this.view.update((v) => {
        // A restart in between dropped the row this page hangs on: it no longer fits.
        const room = v.room.rows.has(oldest.id) || v.room.gone.has(oldest.id) ? mergePage(v.room, page.messages, this.#deps.pageSize) : v.room;
        return { ...v, loadingOlder: false, room };
      });
    } catch (err) {
      this.view.update((v) => ({ ...v, loadingOlder: false, olderError: asApiError(err) }));
    }
  }

  /** Puts a row that an answer brought, before its event arrives. */
  put(message: Message): void {
    this.view.update((v) => ({ ...v, room: mergePage(v.room, [message]) }));
  }

  #join(): void {
    const channel = this.#deps.channel(`conversation:${this.id}`);
    this.#channel = channel;
    channel.onMessage = (event, payload) => {
      if (channel === this.#channel && !isInternal(event)) this.receive(event, (payload ?? {}) as Record<string, unknown>);
      return payload;
    };
    this.#awaitSnapshot();
    channel
      .join()
      .receive("ok", () => channel === this.#channel && this.#deps.onJoined(this.id))
      .receive("error", (response) => {
        const { code, message } = readReply(response);
        if (channel !== this.#channel || !closedCodes.has(code)) return;
        this.fail(new ApiError({ kind: code === "not_found" ? "not_found" : "forbidden", code, message }));
      });
  }

  #leave(): void {
    const channel = this.#channel;
    this.#channel = null;
    if (this.#snapshotTimer) clearTimeout(this.#snapshotTimer);
    channel?.leave();
    this.streams.set(noStreams);
  }

  #awaitSnapshot(): void {
    if (this.#snapshotTimer) clearTimeout(this.#snapshotTimer);
    this.#snapshotTimer = setTimeout(() => void this.#firstPage(), SNAPSHOT_WAIT_MS);
  }

  async #firstPage(): Promise<void> {
    if (this.view.get().status === "ready") return;
    try {
      const page = await this.#deps.listMessages(this.id);
      if (this.#closed) return;
      this.view.update((v) =>
        v.status === "ready" ? v : { ...v, status: "ready", error: null, room: mergePage(v.room, page.messages, this.#deps.pageSize) },
      );
    } catch (err) {
      // A snapshot that came meanwhile is better than the error.
      this.view.update((v) => (v.status === "ready" ? v : { ...v, status: "error", error: asApiError(err) }));
    }
  }

  /** One event of the topic. */
  receive(event: string, payload: Record<string, unknown>): void {
    if (event === "recent_messages") this.#snapshot(payload);
    else if (event === "message_streaming") {
      this.streams.update((s) => foldFrame(s, payload as unknown as StreamFrame, this.#deps.now()));
      this.#planSweep();
    } else if (event === "resync") {
      if (this.view.get().room.seq === null) void this.#reload(null);
      else this.#heal();
    } else {
      const before = this.#adopt(event, payload);
      const { room, heal } = applyEvent(before, event, payload);
      if (room !== before) {
        this.view.update((v) => ({ ...v, room }));
        this.#landed(before, room);
      }
      if (heal) this.#heal();
    }
    this.#deps.onEvent(this.id, event, payload);
  }

  /** Shown from a page that had no version, with no snapshot to come: the first event tells where we are. */
  #adopt(event: string, payload: Record<string, unknown>): RoomState {
    const { room, status } = this.view.get();
    const seq = payload["seq"];
    if (room.seq !== null || status !== "ready" || typeof seq !== "number" || seq < 1 || !isPersisted(event)) return room;
    return setVersion(room, Math.min(seq, room.ahead[0]?.seq ?? seq) - 1);
  }

  #snapshot(payload: Record<string, unknown>): void {
    if (this.#snapshotTimer) clearTimeout(this.#snapshotTimer);
    const messages = Array.isArray(payload["messages"]) ? (payload["messages"] as Message[]) : [];
    // 0 is a version: a room to which nothing has happened.
    const seq = typeof payload["seq"] === "number" ? payload["seq"] : null;
    const before = this.view.get().room;
    const merged = mergeSnapshot(before, messages, seq);
    const room = drain(merged.room);
    this.view.update((v) => ({ ...v, status: "ready", error: null, room }));
    this.#landed(before, room);
    if (merged.heal || room.ahead.length > 0) this.#heal();
  }

  /** Messages that are new in the room end the stream they came from. */
  #landed(before: RoomState, after: RoomState): void {
    if (before.order === after.order) return;
    for (const id of after.order) {
      const row = after.rows.get(id);
      if (!row || before.rows.has(id)) continue;
      // Older history that was paged in says nothing about what runs now.
      const streamId = row.metadata?.stream_id;
      this.streams.update((s) => messageLanded(s, before.rows.size > 0 ? row.senderId : null, streamId));
      this.#deps.onMessage(row);
    }
  }

  #heal(): void {
    if (this.#healing || this.#closed || this.#healTimer) return;
    this.#healing = true;
    void this.#healOnce().then(
      () => {
        this.#healing = false;
        this.#healTries = 0;
      },
      (err: unknown) => {
        this.#healing = false;
        if (this.#closed) return;
        // A server without versions: read the room again.
        if (isApiError(err) && err.kind === "not_found") {
          void this.#reload(null);
          return;
        }
        const wait = HEAL_RETRY_MS[Math.min(this.#healTries++, HEAL_RETRY_MS.length - 1)] ?? 10_000;
        this.#healTimer = setTimeout(() => {
          this.#healTimer = null;
          this.#heal();
        }, wait);
      },
    );
  }

  async #healOnce(): Promise<void> {
    for (let idle = 0; ; ) {
      const after = this.view.get().room.seq;
      if (after === null || this.#closed) return;
      const page = await this.#deps.listChanges(this.id, after);
      if (page.reset) {
        await this.#reload(page.seq);
        return;
      }
      const before = this.view.get().room;
      const result = applyChanges(before, page.changes, page.seq);
      this.view.update((v) => ({ ...v, room: result.room }));
      this.#landed(before, result.room);
      if (!result.more && !result.heal) return;
      // No progress although events wait: the answer was older than they are. A few tries, then read the room again.
      idle = result.room.seq === after ? idle + 1 : 0;
      if (idle >= 3) {
        await this.#reload(null);
        return;
      }
    }
  }

  async #reload(seq: number | null): Promise<void> {
    const page = await this.#deps.listMessages(this.id);
    this.view.update((v) => {
      const version = page.seq ?? seq;
      const ahead: readonly SeqEvent[] = version === null ? [] : v.room.ahead.filter((e) => e.seq > version);
      return { ...v, status: "ready", error: null, room: drain(restart(version, page.messages, this.#deps.pageSize, ahead)) };
    });
  }

  #planSweep(): void {
    if (this.#sweepTimer) clearTimeout(this.#sweepTimer);
    this.#sweepTimer = null;
    const due = nextSweep(this.streams.get(), this.#deps.now());
    if (due === null) return;
    this.#sweepTimer = setTimeout(() => {
      this.streams.update((s) => sweepStreams(s, this.#deps.now()));
      this.#planSweep();
    }, due + 5);
  }
}

export function asApiError(err: unknown): ApiError {
  return isApiError(err) ? err : new ApiError({ kind: "server", code: "client_error" });
}
