/** The timeline as a screen shows it: stored rows, then what is still in the outbox. Pure. */
import type { Id, Message, Self } from "#/api/types";
import type { Outbox, OutboxFile } from "./outbox";
import { messagesOf, type RoomState } from "./room";

export interface LocalState {
  nonce: string;
  state: "queued" | "sending" | "failed";
  error?: { code: string; message: string } | undefined;
  at: string;
  files?: readonly OutboxFile[] | undefined;
}

/** A stored message, or one's own that is not known to be stored (`local`). */
export type RoomMessage = Message & { local?: LocalState };

/** Stays the same when the stored row takes the place of its placeholder. */
export function messageKey(m: RoomMessage): string {
  return m.local?.nonce ?? m.metadata?.client_nonce ?? m.id;
}

export function timelineItems(
  room: RoomState,
  outbox: Outbox,
  conversationId: Id,
  self: Pick<Self, "id" | "displayName" | "avatarUrl">,
): RoomMessage[] {
  const rows: RoomMessage[] = messagesOf(room);
  const waiting = outbox.filter((x) => x.conversationId === conversationId);
  if (waiting.length === 0) return rows;
  const seen = new Set<string>();
  for (const m of rows) if (m.metadata?.client_nonce) seen.add(m.metadata.client_nonce);
  for (const x of waiting) {
    if (seen.has(x.nonce)) continue;
    rows.push({
      id: `local:${x.nonce}`,
      conversationId,
      senderId: self.id,
      sender: { id: self.id, type: "human", displayName: self.displayName, avatarUrl: self.avatarUrl ?? null },
      content: x.content,
      contentType: "text",
      metadata: { client_nonce: x.nonce },
      ...(x.parentMessageId ? { parentMessageId: x.parentMessageId } : {}),
      insertedAt: x.at,
      // "stored" is on its way back to us: still shown as being sent, for a moment.
      local: {
        nonce: x.nonce,
        state: x.state === "stored" ? "sending" : x.state,
        error: x.error,
        at: x.at,
        ...(x.files?.length ? { files: x.files } : {}),
      },
    });
  }
  return rows;
}

/**
 * Where reading stopped: `insertedAt` of the last read message, `''` when all loaded ones are unread, null when nothing is unread. Judged once, when the
 * room is opened.
 */
export function readUpTo(rows: readonly Message[], unread: number, lastReadSeq: number | undefined, selfId: Id): string | null {
  if (unread <= 0) return null;
  if (lastReadSeq !== undefined && rows.every((m) => m.messageSeq !== undefined)) {
    let last = "";
    for (const m of rows) if ((m.messageSeq ?? 0) <= lastReadSeq && m.insertedAt > last) last = m.insertedAt;
    const anyUnread = rows.some((m) => m.insertedAt > last && m.senderId !== selfId);
    return anyUnread ? last : null;
  }
  return rows[rows.length - unread - 1]?.insertedAt ?? "";
}
