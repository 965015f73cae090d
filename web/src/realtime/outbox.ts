/**
 * What was written and is not yet known to be stored by the server. Pure queue and its storage; `sender.ts` empties it.
 *
 * An item is on disk before `add` returns, one key per item so that tabs do not overwrite each other. Each carries a nonce; the server answers the
 * same nonce of the same sender with the same message, so sending again is always safe.
 */
import type { Id } from "#/api/types";

/** A file of an unsent message. Its bytes are in the `FileBox` under `key`; `storageKey` is known once the server has them. */
export interface OutboxFile {
  key: string;
  filename: string;
  contentType: string;
  sizeBytes: number;
  storageKey?: string | undefined;
}

export interface OutboxItem {
  nonce: string;
  conversationId: Id;
  content: string;
  parentMessageId?: Id | undefined;
  files?: readonly OutboxFile[] | undefined;
  /** When it was written, ISO; shown, and the order of sending. */
  at: string;
  /** Order among items written in the same millisecond. */
  n: number;
  /** `stored`: the server has it, its message has not been seen yet. */
  state: "queued" | "sending" | "failed" | "stored";
  error?: { code: string; message: string } | undefined;
}

export interface NewItem {
  nonce: string;
  conversationId: Id;
  content: string;
  parentMessageId?: Id | undefined;
  files?: readonly OutboxFile[] | undefined;
  at: string;
}

export type Outbox = readonly OutboxItem[];

const later = (a: OutboxItem, b: OutboxItem) => (a.at === b.at ? a.n - b.n : a.at < b.at ? -1 : 1);

export function addItem(box: Outbox, item: NewItem): Outbox {
  if (box.some((x) => x.nonce === item.nonce)) return box;
  const n = box.reduce((max, x) => Math.max(max, x.n), 0) + 1;
  return [...box, { ...item, n, state: "queued" as const }].sort(later);
}

export function changeItem(box: Outbox, nonce: string, change: Partial<Pick<OutboxItem, "state" | "error" | "files">>): Outbox {
  const held = box.find((x) => x.nonce === nonce);
  return held ? box.map((x) => (x === held ? { ...x, ...change } : x)) : box;
}

export function removeItem(box: Outbox, nonce: string): Outbox {
  return box.some((x) => x.nonce === nonce) ? box.filter((x) => x.nonce !== nonce) : box;
}

/** What was on its way when the connection broke is sent again. */
export function requeueSending(box: Outbox): Outbox {
  return box.some((x) => x.state === "sending") ? box.map((x) => (x.state === "sending" ? { ...x, state: "queued" } : x)) : box;
}

/**
 * The next item of a room that may go out: one at a time, in the order written. A failed one waits for the person and lets later ones pass.
 */
export function nextToSend(box: Outbox, conversationId: Id): OutboxItem | null {
  for (const x of box) {
    if (x.conversationId !== conversationId || x.state === "failed" || x.state === "stored") continue;
    return x.state === "queued" ? x : null;
  }
  return null;
}

export function roomsWithWork(box: Outbox): Id[] {
  return [...new Set(box.filter((x) => x.state === "queued").map((x) => x.conversationId))];
}

export function unsentCount(box: Outbox): number {
  return box.filter((x) => x.state === "queued" || x.state === "sending").length;
}

/** localStorage, one key per item and person. Storage that is blocked or full costs durability, not sending. */
export class OutboxStorage {
  readonly #prefix: string;
  readonly #storage: Storage | null;

  constructor(storage: Storage | null, selfId: Id) {
    this.#storage = storage;
    this.#prefix = `agntchat.outbox.${selfId}.`;
  }

  load(): Outbox {
    const items: OutboxItem[] = [];
    try {
      for (let i = 0; i < (this.#storage?.length ?? 0); i++) {
        const key = this.#storage?.key(i);
        if (!key?.startsWith(this.#prefix)) continue;
        const item = parse(this.#storage?.getItem(key) ?? null);
        if (item) items.push(item);
      }
    } catch {
      return [];
    }
    return items.sort(later);
  }

  /** True when the item is on disk. */
  save(item: OutboxItem): boolean {
    try {
      // "sending" is of this moment only: after a reload it is queued again.
      const state = item.state === "failed" ? "failed" : "queued";
      this.#storage?.setItem(this.#prefix + item.nonce, JSON.stringify({ ...item, state }));
      return this.#storage !== null;
    } catch {
      return false;
    }
  }

  remove(nonce: string): void {
    try {
      this.#storage?.removeItem(this.#prefix + nonce);
    } catch {
      // Sent again after a reload; the nonce makes that harmless.
    }
  }

  clear(): void {
    for (const item of this.load()) this.remove(item.nonce);
  }

  /** The nonce that a `storage` event of another tab is about, or null. */
  nonceOf(key: string | null): string | null {
    return key?.startsWith(this.#prefix) ? key.slice(this.#prefix.length) : null;
  }

  read(nonce: string): OutboxItem | null {
    try {
      return parse(this.#storage?.getItem(this.#prefix + nonce) ?? null);
    } catch {
      return null;
    }
  }
}

function parse(raw: string | null): OutboxItem | null {
  if (!raw) return null;
  try {
    const x = JSON.parse(raw) as OutboxItem;
    const ok = typeof x.nonce === "string" && typeof x.conversationId === "string" && typeof x.content === "string" && typeof x.at === "string";
    const files = Array.isArray(x.files) ? x.files.filter((f) => typeof f?.key === "string" && typeof f.filename === "string") : undefined;
    return ok ? { ...x, files, n: typeof x.n === "number" ? x.n : 0, state: x.state === "failed" ? "failed" : "queued" } : null;
  } catch {
    return null;
  }
}
