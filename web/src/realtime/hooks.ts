/** What screens watch and do. See `api/README.md` for the table. */
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { stopAgents } from "#/api/conversations";
import type { ApiError } from "#/api/errors";
import { session } from "#/api/session";
import type { Conversation, Id, Self } from "#/api/types";
import { type ActivityRow, activityRows, sameRows } from "./activity";
import type { ConnectionState } from "./connection";
import { useHub } from "./context";
import { type RoomMessage, readUpTo, timelineItems } from "./items";
import { orderedRooms, unreadTotal } from "./list";
import { unsentCount } from "./outbox";
import { type Activity, type Device, markOf, type PresenceMark } from "./presence";
import { createStore, sameList, useStore } from "./store";
import type { Stream } from "./streams";
import type { Typist } from "./typing";

export { messageKey, type RoomMessage } from "./items";
export type { Activity, ActivityRow, ConnectionState, Device, PresenceMark, Stream, Typist };

const nobody: readonly Typist[] = [];
const noUploads = createStore<ReadonlyMap<string, number>>(new Map());

export function useConnection(): ConnectionState & { queued: number; retryNow: () => void } {
  const hub = useHub();
  const state = useStore(hub.connection, (s) => s);
  const queued = useStore(hub.outbox, unsentCount);
  return useMemo(() => ({ ...state, queued, retryNow: () => hub.reconnectNow() }), [state, queued, hub]);
}

export function useConversations(): { status: "loading" | "ready" | "error"; error: ApiError | null; rooms: Conversation[]; retry: () => void } {
  const hub = useHub();
  const view = useStore(hub.list, (v) => v);
  const rooms = useStore(hub.list, (v) => orderedRooms(v.rooms), sameList);
  return useMemo(() => ({ status: view.status, error: view.error, rooms, retry: () => void hub.refresh() }), [view.status, view.error, rooms, hub]);
}

/** One room of the list, fetched when it is not there. */
export function useConversation(id: Id): Conversation | undefined {
  const hub = useHub();
  const room = useStore(
    hub.list,
    useCallback((v) => v.rooms.get(id)?.room, [id]),
  );
  const status = useStore(hub.list, (v) => v.status);
  useEffect(() => {
    if (status !== "loading") void hub.ensureRoom(id).catch(() => undefined);
  }, [hub, id, status]);
  return room;
}

export function useUnreadTotal(): number {
  return useStore(useHub().list, (v) => unreadTotal(v.rooms));
}

export interface RoomHandle {
  status: "loading" | "ready" | "error";
  error: ApiError | null;
  /** Oldest first. */
  items: readonly RoomMessage[];
  hasOlder: boolean;
  loadingOlder: boolean;
  olderError: ApiError | null;
  loadOlder: () => void;
  retry: () => void;
  /** `insertedAt` of the last message read before the room was opened; `''` all are new; null nothing is. */
  readUpTo: string | null;
}

/** Follows a room while mounted. */
export function useRoom(id: Id): RoomHandle {
  const hub = useHub();
  useEffect(() => hub.follow(id), [hub, id]);
  const link = hub.room(id);
  const view = useStore(link.view, (v) => v);
  const outbox = useStore(
    hub.outbox,
    useCallback((b) => b.filter((x) => x.conversationId === id), [id]),
    sameList,
  );
  const self = session.get()?.self as Self;
  const items = useMemo(() => timelineItems(view.room, outbox, id, self), [view.room, outbox, id, self]);

  // Judged once per opening, when the first rows are there and before anything is marked read.
  const opened = useRef<{ id: Id; value: string | null; settled: boolean }>({ id: "", value: null, settled: false });
  if (opened.current.id !== id) opened.current = { id, value: null, settled: false };
  if (!opened.current.settled && view.status === "ready") {
    const e = hub.list.get().rooms.get(id);
    if (e || hub.list.get().status !== "loading") {
      const stored = items.filter((m) => !m.local);
      opened.current = { id, settled: true, value: readUpTo(stored, e?.unread ?? 0, e?.room.lastReadSeq, hub.selfId) };
    }
  }

  // The list may come after the rows: the handle is made anew when the judgement falls.
  const readMark = opened.current.value;
  return useMemo(
    () => ({
      status: view.status,
      error: view.error,
      items,
      hasOlder: view.status === "ready" && view.room.start !== "reached" && view.room.order.length > 0,
      loadingOlder: view.loadingOlder,
      olderError: view.olderError,
      loadOlder: () => void link.loadOlder(),
      retry: () => link.retry(),
      readUpTo: readMark,
    }),
    [view, items, link, readMark],
  );
}

export function useRoomStreams(id: Id): readonly Stream[] {
  return useStore(useHub().room(id).streams, (s) => s.streams, sameList);
}

export function useTyping(id: Id): readonly Typist[] {
  return useStore(
    useHub().typing,
    useCallback((s) => s.get(id) ?? nobody, [id]),
  );
}

export function useRoomActivity(id: Id): readonly ActivityRow[] {
  const hub = useHub();
  const streams = useRoomStreams(id);
  const typists = useTyping(id);
  const members = useStore(
    hub.list,
    useCallback((v) => v.rooms.get(id)?.room.members, [id]),
  );
  const presence = useStore(hub.presence, (p) => p);
  const lastSenderId = useStore(
    hub.room(id).view,
    useCallback((v) => v.room.rows.get(v.room.order[v.room.order.length - 1] ?? "")?.senderId ?? null, []),
  );
  const last = useRef<readonly ActivityRow[]>([]);
  return useMemo(() => {
    const next = activityRows({ conversationId: id, selfId: hub.selfId, members, streams, presence, typists, lastSenderId });
    if (!sameRows(last.current, next)) last.current = next;
    return last.current;
  }, [id, hub, members, streams, presence, typists, lastSenderId]);
}

/** `here`, `idle`, `away` or `working`, as the marks of the design. */
export function usePresence(id: Id): PresenceMark {
  return useStore(
    useHub().presence,
    useCallback((s) => markOf(s, id), [id]),
  );
}

/** False until the server has told who is here. */
export function usePresenceKnown(): boolean {
  return useStore(useHub().presence, (s) => s.known);
}

export function useAgentActivity(agentId: Id): Activity | null {
  return useStore(
    useHub().presence,
    useCallback((s) => s.activities.get(agentId) ?? null, [agentId]),
  );
}

export function useAgentDevice(agentId: Id): Device | null {
  return useStore(
    useHub().presence,
    useCallback((s) => s.devices.get(agentId) ?? null, [agentId]),
  );
}

/** How much of a file of an unsent message is sent, 0 to 1; null while it is not on its way. */
export function useUploadProgress(key: string): number | null {
  return useStore(
    useHub().uploads?.progress ?? noUploads,
    useCallback((p) => p.get(key) ?? null, [key]),
  );
}

/** An address of the bytes of an unsent file, for a picture of it; null until it is there, or when it is not on this device. */
export function useUnsentBytes(key: string, wanted: boolean): string | null {
  const hub = useHub();
  const [address, setAddress] = useState<string | null>(null);
  useEffect(() => {
    if (!wanted) return;
    let made: string | null = null;
    let left = false;
    void hub.uploads?.bytes(key).then((bytes) => {
      if (left || !bytes) return;
      made = URL.createObjectURL(bytes);
      setAddress(made);
    });
    return () => {
      left = true;
      if (made) URL.revokeObjectURL(made);
    };
  }, [hub, key, wanted]);
  return address;
}

export interface RoomActions {
  send: (input: { content: string; parentMessageId?: Id | undefined; files?: readonly File[] | undefined }) => string;
  retry: (nonce: string) => void;
  discard: (nonce: string) => void;
  typing: () => void;
  markRead: () => void;
  /** Null when it worked, else what the server said. */
  deleteMessage: (messageId: Id) => Promise<{ code: string; message: string } | null>;
  react: (messageId: Id, emoji: string, on: boolean) => Promise<{ code: string; message: string } | null>;
  /** All agents of the room, or one. */
  stop: (input?: { agentId?: Id; lastMessageId?: Id }) => Promise<{ stopped: unknown; stale?: boolean }>;
}

export function useRoomActions(id: Id): RoomActions {
  const hub = useHub();
  return useMemo(
    () => ({
      send: (input) => hub.send({ conversationId: id, ...input }),
      retry: (nonce) => hub.retry(nonce),
      discard: (nonce) => hub.discard(nonce),
      typing: () => hub.sendTyping(id),
      markRead: () => hub.markRead(id),
      deleteMessage: (messageId) => hub.request(id, "delete_message", { message_id: messageId }),
      react: (messageId, emoji, on) => hub.request(id, on ? "add_reaction" : "remove_reaction", { message_id: messageId, emoji }),
      stop: (input) => stopAgents(id, input ?? {}),
    }),
    [hub, id],
  );
}
