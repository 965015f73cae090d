/**
 * Empties the outbox: per room one message at a time in the order written, over a joined channel only, again with the same nonce whenever it is not
 * certain that the server has it. It never drops an item by itself: refused ones are marked failed and wait for the person.
 */
import type { Id, Message } from "#/api/types";
import { changeItem, nextToSend, type Outbox, type OutboxItem, type OutboxStorage, removeItem, requeueSending, roomsWithWork } from "./outbox";
import type { Store } from "./store";

export type SendResult =
  | { kind: "stored"; message?: Message | undefined }
  /** The server said no: sending again without a change will not help. */
  | { kind: "refused"; code: string; message: string }
  /** No answer, or "not now". */
  | { kind: "again"; code: string; afterMs: number };

export interface SendPort {
  /** True when a push would leave now. When false, `prepare` is asked to make it so and `flush` is called later. */
  ready(conversationId: Id): boolean;
  prepare(conversationId: Id): void;
  push(item: OutboxItem): Promise<SendResult>;
  /** The server has the item. */
  stored(item: OutboxItem, message: Message | undefined): void;
}

/** After so many answers of "not now" in a row the person is told. Lost connections do not count. */
const MAX_TRIES = 6;

export class Sender {
  readonly #box: Store<Outbox>;
  readonly #storage: OutboxStorage;
  readonly #port: SendPort;
  readonly #busy = new Set<Id>();
  readonly #tries = new Map<string, number>();
  readonly #timers = new Set<ReturnType<typeof setTimeout>>();
  /** Counts connections: an answer that belongs to an older one says nothing, unless it is "stored". */
  #epoch = 0;
  #stopped = false;

  constructor(box: Store<Outbox>, storage: OutboxStorage, port: SendPort) {
    this.#box = box;
    this.#storage = storage;
    this.#port = port;
  }

  flush(): void {
    for (const id of roomsWithWork(this.#box.get())) this.flushRoom(id);
  }

  flushRoom(id: Id): void {
    if (this.#stopped || this.#busy.has(id)) return;
    const item = nextToSend(this.#box.get(), id);
    if (!item) return;
    if (!this.#port.ready(id)) {
      this.#port.prepare(id);
      return;
    }
    void this.#send(item);
  }

  /** The socket is gone: whatever was on its way is queued again. */
  connectionLost(): void {
    this.#epoch++;
    this.#busy.clear();
    this.#box.update(requeueSending);
  }

  retry(nonce: string): void {
    const item = this.#box.get().find((x) => x.nonce === nonce);
    if (item?.state !== "failed") return;
    this.#tries.delete(nonce);
    this.#box.update((b) => changeItem(b, nonce, { state: "queued", error: undefined }));
    this.#storage.save({ ...item, state: "queued", error: undefined });
    this.flushRoom(item.conversationId);
  }

  /** Nothing more can be sent to a room: it is gone, or not ours to write in. What waits for it is marked failed and kept. */
  failRoom(id: Id, code: string): void {
    this.#busy.delete(id);
    for (const x of this.#box.get()) {
      if (x.conversationId === id && (x.state === "queued" || x.state === "sending")) this.#fail(x, code, "");
    }
  }

  discard(nonce: string): void {
    this.#tries.delete(nonce);
    this.#storage.remove(nonce);
    this.#box.update((b) => removeItem(b, nonce));
  }

  stop(): void {
    this.#stopped = true;
    this.#epoch++;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  async #send(item: OutboxItem): Promise<void> {
    const { nonce, conversationId } = item;
    const epoch = this.#epoch;
    this.#busy.add(conversationId);
    this.#box.update((b) => changeItem(b, nonce, { state: "sending" }));
    const result = await this.#port.push(item);
    if (result.kind === "stored") this.#stored(item, result.message);
    if (epoch !== this.#epoch || this.#stopped) return;
    this.#busy.delete(conversationId);
    if (result.kind === "refused") this.#fail(item, result.code, result.message);
    if (result.kind === "again") {
      this.#again(item, result);
      return;
    }
    this.flushRoom(conversationId);
  }

  #stored(item: OutboxItem, message: Message | undefined): void {
    this.#tries.delete(item.nonce);
    this.#storage.remove(item.nonce);
    this.#box.update((b) => changeItem(b, item.nonce, { state: "stored" }));
    this.#port.stored(item, message);
  }

  #fail(item: OutboxItem, code: string, message: string): void {
    // Discarded while it was under way: then it stays discarded.
    if (!this.#box.get().some((x) => x.nonce === item.nonce)) return;
    const error = { code, message };
    this.#tries.delete(item.nonce);
    this.#box.update((b) => changeItem(b, item.nonce, { state: "failed", error }));
    this.#storage.save({ ...item, state: "failed", error });
  }

  #again(item: OutboxItem, result: { code: string; afterMs: number }): void {
    const tries = (this.#tries.get(item.nonce) ?? 0) + 1;
    if (tries >= MAX_TRIES) {
      this.#fail(item, result.code, "");
      this.flushRoom(item.conversationId);
      return;
    }
    if (this.#box.get().find((x) => x.nonce === item.nonce)?.state !== "sending") return;
    this.#tries.set(item.nonce, tries);
    this.#box.update((b) => changeItem(b, item.nonce, { state: "queued" }));
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.flushRoom(item.conversationId);
    }, result.afterMs * tries);
    this.#timers.add(timer);
  }
}
