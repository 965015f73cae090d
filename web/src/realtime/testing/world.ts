/** A room as a server keeps it, for tests: every change has a version, pages and snapshots can be read at any of them. */
import type { Change, ChangesPage, Id, Message, MessageMetadata } from "#/api/types";
import { applyPatch, react } from "../room";
import type { Random } from "./random";

export const SELF = "self";

export function message(n: number, extra: Partial<Message> = {}): Message {
  return {
    id: `m${n}`,
    conversationId: "room",
    senderId: n % 3 === 0 ? SELF : `p${n % 3}`,
    content: `text ${n}`,
    metadata: {},
    reactions: [],
    insertedAt: `2026-01-01T00:00:00.${String(n).padStart(6, "0")}Z`,
    messageSeq: n,
    ...extra,
  };
}

export class World {
  /** `states[v]`: all messages at version v, oldest first. */
  readonly states: Message[][] = [[]];
  readonly changes: Change[] = [];
  #count = 0;

  get version(): number {
    return this.changes.length;
  }

  get messages(): Message[] {
    return this.at(this.version);
  }

  at(version: number): Message[] {
    return this.states[version] ?? [];
  }

  post(extra: Partial<Message> = {}): Message {
    const m = message(++this.#count, extra);
    this.#commit("new_message", m, [...this.messages, m]);
    return m;
  }

  delete(id: Id): void {
    this.#commit(
      "message_deleted",
      { messageId: id, conversationId: "room" },
      this.messages.filter((m) => m.id !== id),
    );
  }

  setMetadata(id: Id, metadata: MessageMetadata): void {
    this.#commit(
      "message_metadata_changed",
      { messageId: id, conversationId: "room", metadata },
      this.messages.map((m) => (m.id === id ? applyPatch(m, { metadata, reactions: new Map() }) : m)),
    );
  }

  react(id: Id, emoji: string, participantId: Id, on: boolean): void {
    this.#commit(
      on ? "reaction_added" : "reaction_removed",
      { messageId: id, emoji, participantId },
      this.messages.map((m) => (m.id === id ? react(m, emoji, participantId, on) : m)),
    );
  }

  /** A change of a kind that this client does not show. */
  other(): void {
    this.#commit("something_new", { value: 1 }, this.messages);
  }

  randomChange(r: Random): void {
    const target = this.messages.length ? r.pick(this.messages) : null;
    const roll = r();
    if (!target || roll < 0.5) this.post();
    else if (roll < 0.6) this.delete(target.id);
    else if (roll < 0.75) this.setMetadata(target.id, { note: r.int(1000) });
    else if (roll < 0.95) this.react(target.id, r.pick(["+1", "eyes"]), r.pick(["p1", "p2"]), r.chance(0.6));
    else this.other();
  }

  /** Newest window at a version, as pushed after a join. */
  window(version: number, size: number): { messages: Message[]; seq: number } {
    return { messages: this.at(version).slice(-size), seq: version };
  }

  page(version: number, size: number, before?: string): { messages: Message[] } {
    const rows = this.at(version).filter((m) => before === undefined || m.insertedAt < before);
    return { messages: rows.slice(-size).reverse() };
  }

  changesAfter(after: number, version: number, limit = 50): ChangesPage {
    return { changes: this.changes.slice(after, Math.min(version, after + limit)), seq: version };
  }

  #commit(event: string, payload: object, state: Message[]): void {
    const seq = this.version + 1;
    this.changes.push({ seq, event, payload: { ...payload, seq } });
    this.states.push(state.map((m) => m));
  }
}

/** Messages without what only events carry, for comparing. */
export function plain(messages: readonly Message[]): unknown[] {
  return messages.map((m) => {
    const { seq: _seq, ...rest } = m as Message & { seq?: number };
    return {
      ...rest,
      reactions: [...(rest.reactions ?? [])].map((r) => `${r.emoji}:${[...r.participantIds].sort().join(",")}`).sort(),
    };
  });
}
