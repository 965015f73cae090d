import { useEffect, useRef } from "react";
import type { Id } from "#/api/types";
import { useHub } from "./context";
import { isInternal } from "./socket";

/** Joins a topic of a feature's own while mounted. Rooms and the user topic have hooks of their own; do not join those with this. */
export function useChannel(topic: string | null, onEvent: (event: string, payload: Record<string, unknown>) => void): void {
  const hub = useHub();
  const handler = useRef(onEvent);
  useEffect(() => {
    handler.current = onEvent;
  });
  useEffect(() => {
    if (!topic) return;
    const channel = hub.channel(topic);
    channel.onMessage = (event, payload) => {
      if (!isInternal(event)) handler.current(event, (payload ?? {}) as Record<string, unknown>);
      return payload;
    };
    channel.join();
    return () => {
      channel.leave();
    };
  }, [hub, topic]);
}

/** Hears the user topic: one call per event, after the stores took it. */
export function useUserEvents(onEvent: (event: string, payload: Record<string, unknown>) => void): void {
  const hub = useHub();
  const handler = useRef(onEvent);
  useEffect(() => {
    handler.current = onEvent;
  });
  useEffect(() => hub.onUserEvent((event, payload) => handler.current(event, payload)), [hub]);
}

/** Hears the topic of a room that is followed: one call per event, after the stores took it. */
export function useRoomEvents(id: Id, onEvent: (event: string, payload: Record<string, unknown>) => void): void {
  const hub = useHub();
  const handler = useRef(onEvent);
  useEffect(() => {
    handler.current = onEvent;
  });
  useEffect(() => hub.onRoomEvent(id, (event, payload) => handler.current(event, payload)), [hub, id]);
}
