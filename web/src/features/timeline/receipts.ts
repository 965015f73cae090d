/** Receipts of agents that read their messages in a tool of their own (docs/external-sessions.md). */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";
import { listReceipts } from "#/api/conversations";
import { keys } from "#/api/keys";
import type { Conversation, Id, Receipt } from "#/api/types";
import { useConnection } from "#/realtime/hooks";
import { useRoomEvents } from "#/realtime/useChannel";

/** Whether somebody in the room reads elsewhere; in every other room an answer or its absence says more. */
export function readsElsewhere(room: Conversation | undefined): boolean {
  return room?.type === "session" || (room?.members ?? []).some((m) => m.participant?.externalTool);
}

/** The list with one receipt put in or replaced; an older one changes nothing. */
export function withReceipt(list: readonly Receipt[] | undefined, receipt: Receipt): Receipt[] | undefined {
  if (!list || typeof receipt?.messageId !== "string") return list ? [...list] : undefined;
  const same = (r: Receipt) => r.messageId === receipt.messageId && r.agentId === receipt.agentId;
  const held = list.find(same);
  if (held?.at && receipt.at && held.at > receipt.at) return [...list];
  return [...list.filter((r) => !same(r)), receipt];
}

export function byMessage(list: readonly Receipt[]): ReadonlyMap<Id, readonly Receipt[]> {
  const out = new Map<Id, Receipt[]>();
  for (const r of list) {
    if (r.state !== "waiting" && r.state !== "read") continue;
    const of = out.get(r.messageId);
    if (of) of.push(r);
    else out.set(r.messageId, [r]);
  }
  return out;
}

const none: readonly Receipt[] = [];

/** What became of each message of a room with the agents that read elsewhere, live. */
export function useReceipts(roomId: Id, room: Conversation | undefined): (messageId: Id) => readonly Receipt[] {
  const queries = useQueryClient();
  const { state } = useConnection();
  const wanted = readsElsewhere(room);
  const list = useQuery({ queryKey: keys.receipts(roomId), queryFn: ({ signal }) => listReceipts(roomId, signal), enabled: wanted });
  useRoomEvents(roomId, (event, payload) => {
    // That a message waits in an inbox is told by nothing but the message itself.
    if (event === "new_message" && wanted) void queries.invalidateQueries({ queryKey: keys.receipts(roomId) });
    else if (event === "receipt_changed")
      queries.setQueryData<Receipt[]>(keys.receipts(roomId), (old) => withReceipt(old, payload["receipt"] as Receipt));
  });
  useEffect(() => {
    if (wanted && state === "online") void queries.invalidateQueries({ queryKey: keys.receipts(roomId) });
  }, [wanted, state, queries, roomId]);
  const map = useMemo(() => byMessage(list.data ?? none), [list.data]);
  return useCallback((messageId) => map.get(messageId) ?? none, [map]);
}
