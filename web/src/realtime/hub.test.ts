import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "#/api/errors";
import type { Conversation } from "#/api/types";
import type { FileBox } from "./fileBox";
import { Hub, type HubApi } from "./hub";
import { timelineItems } from "./items";
import { OutboxStorage } from "./outbox";
import { messagesOf } from "./room";
import { FakeServer } from "./testing/fakeSocket";
import { seeded } from "./testing/random";
import { plain } from "./testing/world";
import type { UploadApi } from "./uploads";

const self = { id: "self", displayName: "Ada", avatarUrl: null };
const conversation = (extra: Partial<Conversation> = {}): Conversation => ({
  id: "room",
  type: "direct",
  insertedAt: "2026-01-01T00:00:00.000000Z",
  updatedAt: "2026-01-01T00:00:00.000000Z",
  unreadCount: 0,
  members: [],
  ...extra,
});

function apiOf(server: FakeServer, extra: Partial<HubApi> = {}): HubApi {
  return {
    listConversations: async () => [conversation()],
    getConversation: async (id) => conversation({ id }),
    unreadCounts: async () => ({}),
    markRead: async () => undefined,
    listMessages: async (_id, before) => server.world.page(server.world.version, 6, before),
    listChanges: async (_id, after) => server.world.changesAfter(after, server.world.version),
    probe: async () => undefined,
    ...extra,
  };
}

function makeHub(server: FakeServer, extra: Partial<HubApi> = {}): Hub {
  return new Hub({
    selfId: "self",
    token: () => "t",
    makeSocket: server.makeSocket,
    api: apiOf(server, extra),
    storage: localStorage,
    pageSize: 6,
    visible: () => true,
  });
}

const settle = () => vi.advanceTimersByTimeAsync(0);
const contents = (hub: Hub) => timelineItems(hub.room("room").view.get().room, hub.outbox.get(), "room", self).map((m) => m.content);

let hubs: Hub[] = [];
function started(server: FakeServer, extra: Partial<HubApi> = {}): Hub {
  const hub = makeHub(server, extra);
  hubs.push(hub);
  hub.start();
  return hub;
}

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  for (const hub of hubs) hub.stop();
  hubs = [];
  vi.useRealTimers();
});

describe("outbox over the socket", () => {
  it("shows a message at once, and the stored one takes its place under the same key", async () => {
    const server = new FakeServer();
    const hub = started(server);
    hub.follow("room");
    const nonce = hub.send({ conversationId: "room", content: "hello" });
    expect(contents(hub)).toEqual(["hello"]);
    await settle();
    expect(contents(hub)).toEqual(["hello"]);
    expect(hub.outbox.get()).toEqual([]);
    expect(messagesOf(hub.room("room").view.get().room)[0]?.metadata?.client_nonce).toBe(nonce);
    expect(new OutboxStorage(localStorage, "self").load()).toEqual([]);
  });

  it("sends what was written offline on return, in order, once", async () => {
    const server = new FakeServer();
    server.reachable = false;
    const hub = started(server);
    hub.follow("room");
    for (const text of ["one", "two", "three"]) hub.send({ conversationId: "room", content: text });
    await settle();
    expect(server.pushes).toEqual([]);
    expect(hub.outbox.get().map((x) => x.state)).toEqual(["queued", "queued", "queued"]);
    server.connect(true);
    await vi.advanceTimersByTimeAsync(100);
    expect(server.world.messages.map((m) => m.content)).toEqual(["one", "two", "three"]);
    expect(contents(hub)).toEqual(["one", "two", "three"]);
    expect(hub.outbox.get()).toEqual([]);
  });

  it("sends after a reload what the last page left behind, also for a room nobody opened", async () => {
    const server = new FakeServer();
    server.reachable = false;
    const first = started(server);
    first.send({ conversationId: "room", content: "written on the train" });
    first.stop();
    server.reachable = true;
    const second = started(server);
    await vi.advanceTimersByTimeAsync(100);
    expect(server.world.messages.map((m) => m.content)).toEqual(["written on the train"]);
    expect(second.outbox.get()).toEqual([]);
    expect(server.pushes.filter((p) => p.event === "new_message")).toHaveLength(1);
  });

  it("does not lose or double a message whose answer was lost", async () => {
    const server = new FakeServer();
    const fates = ["answer_lost", "lost", "ok"] as const;
    let n = 0;
    server.fate = () => fates[Math.min(n++, 2)] ?? "ok";
    const hub = started(server);
    hub.follow("room");
    hub.send({ conversationId: "room", content: "once" });
    await settle();
    server.drop();
    server.connect(true);
    await settle();
    server.drop();
    server.connect(true);
    await vi.advanceTimersByTimeAsync(100);
    expect(server.world.messages.map((m) => m.content)).toEqual(["once"]);
    expect(contents(hub)).toEqual(["once"]);
    expect(hub.outbox.get()).toEqual([]);
  });

  it("keeps a refused message, lets later ones pass, and sends it again or drops it on demand", async () => {
    const server = new FakeServer();
    let refuse = true;
    server.fate = () => (refuse ? { code: "too_long" } : "ok");
    const hub = started(server);
    hub.follow("room");
    const nonce = hub.send({ conversationId: "room", content: "bad" });
    await settle();
    expect(hub.outbox.get()[0]).toMatchObject({ state: "failed", error: { code: "too_long" } });
    refuse = false;
    hub.send({ conversationId: "room", content: "good" });
    await settle();
    expect(server.world.messages.map((m) => m.content)).toEqual(["good"]);
    expect(new OutboxStorage(localStorage, "self").load().map((x) => [x.content, x.state])).toEqual([["bad", "failed"]]);
    hub.retry(nonce);
    await settle();
    expect(server.world.messages.map((m) => m.content)).toEqual(["good", "bad"]);
    const other = hub.send({ conversationId: "room", content: "never mind" });
    hub.discard(other);
    expect(hub.outbox.get()).toEqual([]);
  });

  it('waits and repeats when the server says "not now", then tells the person', async () => {
    const server = new FakeServer();
    server.fate = () => ({ code: "rate_limited" });
    const hub = started(server);
    hub.follow("room");
    hub.send({ conversationId: "room", content: "patience" });
    await vi.advanceTimersByTimeAsync(120_000);
    expect(hub.outbox.get()[0]).toMatchObject({ state: "failed", error: { code: "rate_limited" } });
    expect(server.pushes.filter((p) => p.event === "new_message").length).toBe(6);
  });

  it("delivers everything once and in order whatever breaks (60 random runs)", { timeout: 60_000 }, async () => {
    for (let seed = 1; seed <= 60; seed++) {
      localStorage.clear();
      const r = seeded(seed);
      const server = new FakeServer();
      server.fate = () => r.pick(["ok", "ok", "ok", "answer_lost", "lost"] as const);
      let hub = makeHub(server);
      hub.start();
      let unfollow = hub.follow("room");
      const written: string[] = [];
      for (let i = 0; i < 30; i++) {
        const roll = r();
        if (roll < 0.4) {
          written.push(`w${i}`);
          hub.send({ conversationId: "room", content: `w${i}` });
        } else if (roll < 0.55) server.drop(r.pick([1006, 1012, 1000]));
        else if (roll < 0.75) server.connect(true);
        else if (roll < 0.8) server.world.post();
        else if (roll < 0.85) {
          unfollow();
          unfollow = hub.follow("room");
        } else if (roll < 0.88) {
          // The page is closed and opened again.
          hub.stop();
          server.connected = false;
          server.channels.clear();
          hub = makeHub(server);
          hub.start();
          unfollow = hub.follow("room");
        } else await vi.advanceTimersByTimeAsync(r.int(3000));
        await settle();
      }
      server.fate = () => "ok";
      server.drop();
      server.connect(true);
      await vi.advanceTimersByTimeAsync(60_000);
      const own = server.world.messages.filter((m) => m.metadata?.client_nonce);
      expect(
        own.map((m) => m.content),
        `seed ${seed}`,
      ).toEqual(written);
      expect(hub.outbox.get(), `seed ${seed}`).toEqual([]);
      const shown = messagesOf(hub.room("room").view.get().room);
      expect(plain(shown), `seed ${seed}`).toEqual(plain(server.world.messages.slice(-shown.length)));
      hub.stop();
    }
  });
});

describe("rooms that come and go", () => {
  it("marks what waits for a room that may not be joined as failed, and keeps it", async () => {
    const server = new FakeServer();
    server.denyJoin = "unauthorized";
    const hub = started(server);
    hub.send({ conversationId: "room", content: "to whom" });
    await vi.advanceTimersByTimeAsync(2000);
    expect(hub.outbox.get()[0]).toMatchObject({ state: "failed", error: { code: "unauthorized" } });
    expect(new OutboxStorage(localStorage, "self").load()[0]?.state).toBe("failed");
  });

  it("keeps a room that came, and leaves out one that went, while the list was being read", async () => {
    const server = new FakeServer();
    let answer: (rooms: Conversation[]) => void = () => undefined;
    const hub = started(server, { listConversations: () => new Promise((resolve) => (answer = resolve)) });
    answer([conversation()]);
    await settle();
    const reading = hub.refresh();
    server.broadcast("user:self", "new_conversation", { conversation: conversation({ id: "fresh" }) });
    server.broadcast("user:self", "conversation_deleted", { conversationId: "room" });
    answer([conversation()]);
    await reading;
    expect([...hub.list.get().rooms.keys()]).toEqual(["fresh"]);
  });
});

describe("a followed room", () => {
  it("heals a gap", async () => {
    const server = new FakeServer();
    for (let i = 0; i < 3; i++) server.world.post();
    const hub = started(server);
    hub.follow("room");
    await settle();
    server.world.post();
    server.world.post();
    server.publish(4);
    await settle();
    expect(messagesOf(hub.room("room").view.get().room).map((m) => m.id)).toEqual(["m1", "m2", "m3", "m4", "m5"]);
  });

  it("reads the room again after a reset", async () => {
    const server = new FakeServer();
    for (let i = 0; i < 12; i++) server.world.post();
    const hub = started(server, { listChanges: async () => ({ changes: [], seq: server.world.version, reset: true }) });
    hub.follow("room");
    await settle();
    for (let i = 0; i < 20; i++) server.world.post();
    server.publish(server.world.version - 1);
    await settle();
    const { room } = hub.room("room").view.get();
    expect(room.seq).toBe(32);
    expect(messagesOf(room).map((m) => m.id)).toEqual(["m27", "m28", "m29", "m30", "m31", "m32"]);
  });

  it("catches up after a reconnect, including what changed outside the window", async () => {
    const server = new FakeServer();
    for (let i = 0; i < 12; i++) server.world.post();
    const hub = started(server);
    hub.follow("room");
    await settle();
    await hub.room("room").loadOlder();
    server.drop();
    server.world.delete("m2");
    server.world.setMetadata("m1", { note: 1 });
    server.world.post();
    server.connect(true);
    await settle();
    expect(plain(messagesOf(hub.room("room").view.get().room))).toEqual(plain(server.world.messages));
  });

  it("falls back to the first page when no snapshot comes", async () => {
    const server = new FakeServer();
    server.snapshots = false;
    server.world.post();
    const hub = started(server);
    hub.follow("room");
    await vi.advanceTimersByTimeAsync(1500);
    expect(hub.room("room").view.get().status).toBe("ready");
    expect(contents(hub)).toEqual(["text 1"]);
  });

  it("says so when the room may not be seen, and asks no more", async () => {
    const server = new FakeServer();
    server.denyJoin = "not_found";
    const hub = started(server);
    hub.follow("room");
    await vi.advanceTimersByTimeAsync(5000);
    expect(hub.room("room").view.get()).toMatchObject({ status: "error", error: { kind: "not_found" } });
    expect([...server.channels].filter((c) => c.topic === "conversation:room")).toEqual([]);
  });

  it("ends the stream of an agent whose message arrived", async () => {
    const server = new FakeServer();
    server.world.post();
    const hub = started(server);
    hub.follow("room");
    server.broadcast("conversation:room", "message_streaming", {
      streamId: "s1",
      senderId: "p2",
      senderName: "Bo",
      status: "streaming",
      phase: "writing",
      content: "so far",
    });
    expect(hub.room("room").streams.get().streams[0]).toMatchObject({ text: "so far" });
    server.world.post({ senderId: "p2", metadata: { stream_id: "s1" } });
    server.publish(1);
    expect(hub.room("room").streams.get().streams).toEqual([]);
    server.broadcast("conversation:room", "message_streaming", {
      streamId: "s1",
      senderId: "p2",
      status: "streaming",
      phase: "writing",
      content: "late",
    });
    expect(hub.room("room").streams.get().streams).toEqual([]);
  });

  it("stays joined for a moment after it is closed, then leaves", async () => {
    const server = new FakeServer();
    const hub = started(server);
    const stop = hub.follow("room");
    stop();
    const joined = () => [...server.channels].some((c) => c.topic === "conversation:room");
    expect(joined()).toBe(true);
    await vi.advanceTimersByTimeAsync(25_000);
    expect(joined()).toBe(false);
  });
});

describe("typing", () => {
  const typed = (server: FakeServer) => server.pushes.filter((p) => p.event === "typing").length;

  it("P8: is told once a second, and again at once after a message", async () => {
    const server = new FakeServer();
    const hub = started(server);
    hub.follow("room");
    hub.sendTyping("room");
    hub.sendTyping("room");
    expect(typed(server)).toBe(1);
    hub.send({ conversationId: "room", content: "hello" });
    hub.sendTyping("room");
    expect(typed(server)).toBe(2);
    await vi.advanceTimersByTimeAsync(1_000);
    hub.sendTyping("room");
    expect(typed(server)).toBe(3);
  });

  it("P8: before the room is joined is told on joining, unless that comes too late", async () => {
    const server = new FakeServer();
    server.reachable = false;
    const hub = started(server);
    hub.follow("room");
    hub.sendTyping("room");
    hub.sendTyping("room");
    await vi.advanceTimersByTimeAsync(800);
    server.connect(true);
    expect(typed(server)).toBe(1);
    server.drop();
    hub.sendTyping("room");
    await vi.advanceTimersByTimeAsync(3_000);
    server.connect(true);
    expect(typed(server)).toBe(1);
  });
});

describe("the list", () => {
  it("counts a message of a closed room once, not that of the open one, and clears on reading", async () => {
    const server = new FakeServer();
    const hub = started(server, { listConversations: async () => [conversation(), conversation({ id: "other" })] });
    hub.follow("room");
    await settle();
    const m = { id: "x1", conversationId: "other", senderId: "p1", content: "hi", insertedAt: "2026-02-01T00:00:00.000000Z", messageSeq: 1 };
    const tell = (id: string, message: object) =>
      server.broadcast("user:self", "conversation_updated", { conversationId: id, lastMessage: message, notificationCategory: "messages" });
    tell("other", m);
    tell("other", m);
    tell("room", { ...m, id: "x2", conversationId: "room" });
    expect(hub.list.get().rooms.get("other")?.unread).toBe(1);
    expect(hub.list.get().rooms.get("room")?.unread).toBe(0);
    server.broadcast("user:self", "conversation_read", { conversationId: "other" });
    expect(hub.list.get().rooms.get("other")?.unread).toBe(0);
  });

  it("tells the server once about a burst of readings", async () => {
    const server = new FakeServer();
    const hub = started(server);
    hub.follow("room");
    for (let i = 0; i < 5; i++) hub.markRead("room");
    await vi.advanceTimersByTimeAsync(1000);
    expect(server.pushes.filter((p) => p.event === "mark_conversation_read")).toHaveLength(1);
  });

  it("does not tell the server again when nothing is new, and does when something is", async () => {
    const server = new FakeServer();
    const hub = started(server);
    hub.follow("room");
    await settle();
    const told = () => server.pushes.filter((p) => p.event === "mark_conversation_read").length;
    for (let i = 0; i < 4; i++) {
      hub.markRead("room");
      await vi.advanceTimersByTimeAsync(1000);
    }
    expect(told()).toBe(1);
    server.world.post({ senderId: "p1" });
    server.publish(0);
    hub.markRead("room");
    await vi.advanceTimersByTimeAsync(1000);
    expect(told()).toBe(2);
  });

  it("keeps what it had when a refresh fails", async () => {
    const server = new FakeServer();
    let fail = false;
    const hub = started(server, {
      listConversations: async () => {
        if (fail) throw new Error("boom");
        return [conversation()];
      },
    });
    await settle();
    fail = true;
    await hub.refresh();
    expect(hub.list.get().status).toBe("ready");
    expect(hub.list.get().rooms.size).toBe(1);
  });
});

describe("the connection", () => {
  it("says online, restarting, online", async () => {
    const server = new FakeServer();
    const hub = started(server);
    expect(hub.connection.get().state).toBe("online");
    server.drop(1012);
    expect(hub.connection.get().state).toBe("restarting");
    server.options?.onRetry(1, 400);
    expect(hub.connection.get().retryAt).not.toBeNull();
    server.connect(true);
    expect(hub.connection.get().state).toBe("online");
  });

  it("asks over HTTP whether the session lives when the socket keeps failing", async () => {
    const server = new FakeServer();
    const probe = vi.fn(async () => undefined);
    const hub = started(server, { probe });
    server.drop();
    for (let i = 1; i <= 4; i++) server.options?.onRetry(i, 10);
    await vi.advanceTimersByTimeAsync(100);
    expect(probe).toHaveBeenCalledTimes(1);
    expect(hub.connection.get().state).toBe("reconnecting");
  });
});

describe("files of the outbox", () => {
  const bytes = (name: string) => new File(["abc"], name, { type: "text/plain" });
  /** A server for bytes: `answers` are given in order, then every upload works. */
  function shelf(answers: (ApiError | Promise<void>)[] = []) {
    const sent: string[] = [];
    const held = new Map<string, Blob>();
    let n = 0;
    const box: FileBox = { put: (k, f) => void held.set(k, f), get: async (k) => held.get(k) ?? null, drop: (k) => void held.delete(k) };
    const api: UploadApi = {
      begin: async (_room, file) => ({ uploadUrl: `/${file.filename}`, storageKey: `key-${++n}` }),
      put: async (url, _bytes, _type, onProgress, signal) => {
        onProgress(0.5);
        const answer = answers.shift();
        if (answer instanceof Error) throw answer;
        const stopped = new Promise((_, no) => signal.addEventListener("abort", () => no(new ApiError({ kind: "aborted" }))));
        await Promise.race([answer ?? Promise.resolve(), stopped]);
        sent.push(url);
      },
    };
    return { sent, held, files: { api, box } };
  }
  function hubWith(server: FakeServer, files: { api: UploadApi; box: FileBox }): Hub {
    const hub = new Hub({
      selfId: "self",
      token: () => "t",
      makeSocket: server.makeSocket,
      api: apiOf(server),
      storage: localStorage,
      files,
      pageSize: 6,
      visible: () => true,
    });
    hubs.push(hub);
    hub.start();
    hub.follow("room");
    return hub;
  }
  const pushes = (server: FakeServer) => server.pushes.filter((p) => p.event === "new_message").map((p) => p.payload["attachments"]);

  it("go before their message, in order, and are forgotten once it is stored", async () => {
    const server = new FakeServer();
    const s = shelf();
    const hub = hubWith(server, s.files);
    hub.send({ conversationId: "room", content: "two", files: [bytes("a.txt"), bytes("b.txt")] });
    hub.send({ conversationId: "room", content: "after" });
    await vi.advanceTimersByTimeAsync(50);
    expect(s.sent).toEqual(["/a.txt", "/b.txt"]);
    expect(pushes(server)).toEqual([
      [
        { storageKey: "key-1", filename: "a.txt", contentType: "text/plain", sizeBytes: 3 },
        { storageKey: "key-2", filename: "b.txt", contentType: "text/plain", sizeBytes: 3 },
      ],
      undefined,
    ]);
    expect(contents(hub)).toEqual(["two", "after"]);
    expect(hub.outbox.get()).toEqual([]);
    expect(s.held.size).toBe(0);
  });

  it("try again after a broken line, and never send again what arrived", async () => {
    const server = new FakeServer();
    const s = shelf([Promise.resolve(), new ApiError({ kind: "offline" })]);
    const hub = hubWith(server, s.files);
    hub.send({ conversationId: "room", content: "x", files: [bytes("a.txt"), bytes("b.txt")] });
    await vi.advanceTimersByTimeAsync(50);
    expect(s.sent).toEqual(["/a.txt"]);
    expect(new OutboxStorage(localStorage, "self").load()[0]?.files?.map((f) => f.storageKey)).toEqual(["key-1", undefined]);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(s.sent).toEqual(["/a.txt", "/b.txt"]);
    expect(contents(hub)).toEqual(["x"]);
    expect(hub.outbox.get()).toEqual([]);
  });

  it("say what the server refused, and keep the file for another try", async () => {
    const server = new FakeServer();
    const s = shelf([new ApiError({ kind: "conflict", status: 409, code: "storage_full", message: "The workspace is full." })]);
    const hub = hubWith(server, s.files);
    const nonce = hub.send({ conversationId: "room", content: "x", files: [bytes("a.txt")] });
    await vi.advanceTimersByTimeAsync(50);
    expect(hub.outbox.get()[0]).toMatchObject({ state: "failed", error: { code: "storage_full", message: "The workspace is full." } });
    hub.retry(nonce);
    await vi.advanceTimersByTimeAsync(50);
    expect(contents(hub)).toEqual(["x"]);
    expect(hub.outbox.get()).toEqual([]);
  });

  it("tell that the bytes are gone after a reload of a browser that keeps none", async () => {
    const server = new FakeServer();
    new OutboxStorage(localStorage, "self").save({
      nonce: "n",
      conversationId: "room",
      content: "x",
      at: "2026-01-01T00:00:00.000000Z",
      n: 1,
      state: "queued",
      files: [{ key: "lost", filename: "a.txt", contentType: "text/plain", sizeBytes: 3 }],
    });
    const hub = hubWith(server, shelf().files);
    await vi.advanceTimersByTimeAsync(50);
    expect(hub.outbox.get()[0]).toMatchObject({ state: "failed", error: { code: "file_lost" } });
    hub.discard("n");
  });

  it("stop when the message is discarded, and free the way for the next", async () => {
    const server = new FakeServer();
    const s = shelf([new Promise(() => undefined)]);
    const hub = hubWith(server, s.files);
    const nonce = hub.send({ conversationId: "room", content: "never", files: [bytes("a.txt")] });
    hub.send({ conversationId: "room", content: "next" });
    await vi.advanceTimersByTimeAsync(50);
    expect([...(hub.uploads?.progress.get().values() ?? [])]).toEqual([0.5]);
    hub.discard(nonce);
    await vi.advanceTimersByTimeAsync(50);
    expect(contents(hub)).toEqual(["next"]);
    expect(s.held.size).toBe(0);
    expect(hub.uploads?.progress.get().size).toBe(0);
  });
});
