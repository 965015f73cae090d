import { act, renderHook } from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { session } from "#/api/session";
import type { Conversation, Self } from "#/api/types";
import { HubContext } from "./context";
import { messageKey, usePresence, useRoom, useRoomActions, useRoomActivity, useUnreadTotal } from "./hooks";
import { Hub } from "./hub";
import { FakeServer } from "./testing/fakeSocket";

const room = (extra: Partial<Conversation> = {}): Conversation => ({
  id: "room",
  type: "direct",
  insertedAt: "2026-01-01T00:00:00.000000Z",
  updatedAt: "2026-01-01T00:00:00.000000Z",
  unreadCount: 0,
  members: [{ participantId: "bot", participant: { id: "bot", type: "agent", displayName: "Bo" } }],
  ...extra,
});

let hub: Hub;
let server: FakeServer;

function start(list: Conversation[]): ({ children }: { children: ReactNode }) => ReactNode {
  hub = new Hub({
    selfId: "self",
    token: () => "t",
    makeSocket: server.makeSocket,
    api: {
      listConversations: async () => list,
      getConversation: async (id) => room({ id }),
      unreadCounts: async () => ({}),
      markRead: async () => undefined,
      listMessages: async (_id, before) => server.world.page(server.world.version, 6, before),
      listChanges: async (_id, after) => server.world.changesAfter(after, server.world.version),
      probe: async () => undefined,
    },
    storage: localStorage,
    pageSize: 6,
    visible: () => true,
  });
  hub.start();
  return ({ children }) => <HubContext.Provider value={hub}>{children}</HubContext.Provider>;
}

const settle = (ms = 0) => act(() => vi.advanceTimersByTimeAsync(ms));

beforeEach(() => {
  vi.useFakeTimers();
  server = new FakeServer();
  session.start({ token: "t", self: { id: "self", type: "human", displayName: "Ada" } as Self });
});
afterEach(() => {
  hub.stop();
  session.end("signed_out");
  vi.useRealTimers();
});

describe("useRoom", () => {
  it("keeps the key of one's own message from placeholder to stored row", async () => {
    const wrapper = start([room()]);
    const { result } = renderHook(() => ({ room: useRoom("room"), actions: useRoomActions("room") }), { wrapper });
    await settle();
    server.fate = () => "lost";
    let nonce = "";
    act(() => {
      nonce = result.current.actions.send({ content: "hello" });
    });
    expect(result.current.room.items.map(messageKey)).toEqual([nonce]);
    expect(result.current.room.items[0]?.local?.state).toBe("sending");
    server.fate = () => "ok";
    act(() => {
      server.drop();
      server.connect(true);
    });
    await settle(100);
    expect(result.current.room.items.map(messageKey)).toEqual([nonce]);
    expect(result.current.room.items[0]?.local).toBeUndefined();
  });

  it("judges where reading stopped once, and not again when it is read or more arrives", async () => {
    for (let i = 0; i < 4; i++) server.world.post({ senderId: "bot" });
    const wrapper = start([room({ unreadCount: 2, lastReadSeq: 2, lastMessage: server.world.messages[3] ?? null })]);
    await settle();
    const { result } = renderHook(() => ({ room: useRoom("room"), unread: useUnreadTotal() }), { wrapper });
    await settle();
    const expected = server.world.messages[1]?.insertedAt;
    expect(result.current.room.readUpTo).toBe(expected);
    expect(result.current.unread).toBe(2);
    act(() => hub.markRead("room"));
    act(() => {
      server.world.post({ senderId: "bot" });
      server.publish(4);
    });
    expect(result.current.unread).toBe(0);
    expect(result.current.room.items).toHaveLength(5);
    expect(result.current.room.readUpTo).toBe(expected);
  });

  it("does not render again for what happens elsewhere", async () => {
    const wrapper = start([room(), room({ id: "other" })]);
    let renders = 0;
    const { result } = renderHook(
      () => {
        renders++;
        return useRoom("room");
      },
      { wrapper },
    );
    await settle();
    const before = renders;
    const items = result.current.items;
    act(() => {
      server.broadcast("user:self", "conversation_updated", {
        conversationId: "other",
        lastMessage: { id: "x", conversationId: "other", senderId: "p", content: "", insertedAt: "2026-02-01T00:00:00.000000Z", messageSeq: 1 },
      });
      server.broadcast("user:self", "human_status_changed", { participantId: "p", online: true });
    });
    expect(renders).toBe(before);
    expect(result.current.items).toBe(items);
  });

  it("leaves when it is unmounted, after a moment", async () => {
    const wrapper = start([room()]);
    const { unmount } = renderHook(() => useRoom("room"), { wrapper });
    await settle();
    unmount();
    await settle(30_000);
    expect([...server.channels].map((c) => c.topic)).toEqual(["user:self"]);
  });
});

describe("what goes on", () => {
  it("follows a stream from its start to the message, and presence with it", async () => {
    const wrapper = start([room()]);
    const { result } = renderHook(() => ({ rows: useRoomActivity("room"), presence: usePresence("bot"), room: useRoom("room") }), { wrapper });
    await settle();
    expect(result.current.presence).toBe("away");
    act(() => {
      server.broadcast("user:self", "agent_status_changed", { agentId: "bot", presence: "online_local" });
      server.broadcast("user:self", "agent_activity_changed", { agentId: "bot", activity: "thinking", conversationIds: ["room"] });
    });
    expect(result.current.presence).toBe("working");
    expect(result.current.rows).toMatchObject([{ name: "Bo", source: "activity", phase: "thinking" }]);
    act(() =>
      server.broadcast("conversation:room", "message_streaming", {
        streamId: "s",
        senderId: "bot",
        senderName: "Bo",
        status: "streaming",
        phase: "tool_call",
        phaseDetail: "Reading a.go",
      }),
    );
    expect(result.current.rows).toMatchObject([{ source: "stream", detail: "Reading a.go" }]);
    act(() => {
      server.world.post({ senderId: "bot", metadata: { stream_id: "s" } });
      server.publish(0);
    });
    // The activity may lag behind the message: who has just answered is not shown at work.
    expect(result.current.rows).toEqual([]);
  });
});
