import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo, useRef } from "react";
import { addMember, getConversation } from "#/api/conversations";
import { completeHuddle, listHuddles } from "#/api/huddles";
import { keys } from "#/api/keys";
import type { Conversation, Id } from "#/api/types";
import { huddleOf } from "#/lib/huddles";
import { useHub } from "#/realtime/context";
import { useConnection } from "#/realtime/hooks";
import { useStore } from "#/realtime/store";
import { useRoomEvents } from "#/realtime/useChannel";

/** However much is said in huddles, their cards are read again at most this often. */
const REREAD_MS = 1_000;

/** The huddles below a room, kept true while the room is followed. */
export function useHuddles(roomId: Id): ReadonlyMap<Id, Conversation> {
  const queries = useQueryClient();
  const { state } = useConnection();
  const list = useQuery({ queryKey: keys.huddles(roomId), queryFn: ({ signal }) => listHuddles(roomId, signal), staleTime: 30_000 });
  const due = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(
    () => () => {
      if (due.current) clearTimeout(due.current);
      due.current = null;
    },
    [],
  );
  useRoomEvents(roomId, (event) => {
    if (event !== "sub_conversation_created" && event !== "huddle_changed") return;
    due.current ??= setTimeout(() => {
      due.current = null;
      void queries.invalidateQueries({ queryKey: keys.huddles(roomId) });
    }, REREAD_MS);
  });
  const before = useRef(state);
  useEffect(() => {
    if (state === "online" && before.current !== "online") void queries.invalidateQueries({ queryKey: keys.huddles(roomId) });
    before.current = state;
  }, [state, queries, roomId]);
  return useMemo(() => new Map((list.data ?? []).filter((h) => huddleOf(h)?.sourceId === roomId).map((h) => [h.id, h])), [list.data, roomId]);
}

/** What is new to who takes part: counted live where the room is known here, else as its card was read. */
export function useHuddleUnread(room: Conversation): number {
  const live = useStore(
    useHub().list,
    useCallback((v) => v.rooms.get(room.id)?.unread, [room.id]),
  );
  return live ?? room.unreadCount ?? 0;
}

/** Takes a seat in a huddle that one looks into. */
export function useJoinHuddle(room: Conversation, selfId: Id) {
  const hub = useHub();
  return useMutation({
    mutationFn: async () => {
      await addMember(room.id, selfId);
      hub.putRoom(await getConversation(room.id));
    },
  });
}

export function useCompleteHuddle(room: Conversation) {
  const hub = useHub();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async (input: { outcome: string; summary: string }) => {
      await completeHuddle({ huddleId: room.id, ...input });
      hub.putRoom(await getConversation(room.id));
      if (room.parentConversationId) void queries.invalidateQueries({ queryKey: keys.huddles(room.parentConversationId) });
    },
  });
}
