import { describe, expect, it } from "vitest";
import type { Conversation, Message } from "#/api/types";
import { activityRows } from "./activity";
import { foldConnection, retryDelay, startConnection } from "./connection";
import { messageKey, readUpTo, timelineItems } from "./items";
import { arrived, foldRoomEvent, loadRooms, noRooms, orderedRooms, readRoom, unreadTotal } from "./list";
import { addItem, changeItem, nextToSend, OutboxStorage, requeueSending } from "./outbox";
import { foldPresence, markOf, nobody } from "./presence";
import { emptyRoom, mergePage } from "./room";
import { seeded } from "./testing/random";
import { message } from "./testing/world";
import { AGENT_TYPING_MS, foldTyping, HUMAN_TYPING_MS, nobodyTypes, readTyping, sweepTyping } from "./typing";

const room = (id: string, extra: Partial<Conversation> = {}): Conversation => ({
  id,
  type: "direct",
  insertedAt: "2026-01-01T00:00:00.000000Z",
  updatedAt: "2026-01-01T00:00:00.000000Z",
  unreadCount: 0,
  ...extra,
});
const arrival = (m: Message, extra = {}) => ({ message: m, category: "messages", selfId: "self", watched: false, ...extra });
const from = (n: number, extra: Partial<Message> = {}) => message(n, { senderId: "p1", conversationId: "a", ...extra });

describe("the list of rooms", () => {
  it("counts each message once in any order and number of deliveries", () => {
    for (let seed = 1; seed <= 50; seed++) {
      const r = seeded(seed);
      const base = loadRooms(noRooms, [room("a")]);
      const all = [1, 2, 3, 4].map((n) => from(n));
      let s = base;
      // In order with doubles: what a lane delivers across reconnects.
      for (const m of all) for (let k = 1 + r.int(2); k > 0; k--) s = arrived(s, "a", arrival(m));
      expect(s.get("a")?.unread).toBe(4);
      expect(s.get("a")?.room.lastMessage?.id).toBe("m4");
    }
  });

  it("does not count what the list counted already, own words, or a watched room", () => {
    const s = loadRooms(noRooms, [room("a", { unreadCount: 2, lastMessage: from(5) })]);
    expect(arrived(s, "a", arrival(from(5))).get("a")?.unread).toBe(2);
    expect(arrived(s, "a", arrival(from(6, { senderId: "self" }))).get("a")?.unread).toBe(0);
    expect(arrived(s, "a", arrival(from(6), { watched: true })).get("a")?.unread).toBe(2);
  });

  it("counts the bubbles of one turn once and marks mentions", () => {
    let s = loadRooms(noRooms, [room("a")]);
    s = arrived(s, "a", arrival(from(1, { turnGroupId: "t" })));
    s = arrived(s, "a", arrival(from(2, { turnGroupId: "t" }), { category: "mentions" }));
    expect(s.get("a")).toMatchObject({ unread: 1, mentioned: true });
    expect(readRoom(s, "a").get("a")).toMatchObject({ unread: 0, mentioned: false });
  });

  it("keeps a newer message when an older list answer comes late", () => {
    let s = loadRooms(noRooms, [room("a")]);
    s = arrived(s, "a", arrival(from(9)));
    s = loadRooms(s, [room("a", { lastMessage: from(8) })]);
    expect(s.get("a")?.room.lastMessage?.id).toBe("m9");
    expect(s.get("a")?.unread).toBe(1);
  });

  it("orders pinned first, then by activity, and leaves huddles and work rooms out", () => {
    const s = loadRooms(noRooms, [
      room("old"),
      room("new", { updatedAt: "2026-02-01T00:00:00.000000Z" }),
      room("pin", { pinned: true }),
      room("huddle", { parentConversationId: "old", unreadCount: 4 }),
      room("work", { type: "task" }),
    ]);
    expect(orderedRooms(s).map((r) => r.id)).toEqual(["pin", "new", "old"]);
    expect(unreadTotal(s)).toBe(0);
  });

  it("follows titles and members", () => {
    let s = loadRooms(noRooms, [room("a", { members: [{ participantId: "p1" }] })]);
    s = foldRoomEvent(s, "a", "member_added", { member: { participantId: "p2" } });
    s = foldRoomEvent(s, "a", "member_removed", { member: { participantId: "p1" } });
    s = foldRoomEvent(s, "a", "conversation_title_changed", { title: "Launch" });
    expect(s.get("a")?.room).toMatchObject({ title: "Launch", members: [{ participantId: "p2" }] });
    expect(foldRoomEvent(s, "a", "anything", {})).toBe(s);
  });
});

describe("presence", () => {
  it("is replaced by a snapshot and changed by events", () => {
    let s = foldPresence(
      nobody,
      "presence_snapshot",
      {
        onlineParticipantIds: ["p1"],
        agentPresences: { a1: "online_local" },
        agentActivities: { a1: { activity: "writing", conversationIds: ["r"] } },
        agentDevices: { a1: { name: "mac" } },
      },
      1,
    );
    expect([markOf(s, "p1"), markOf(s, "a1"), markOf(s, "x")]).toEqual(["here", "working", "away"]);
    s = foldPresence(s, "agent_activity_changed", { agentId: "a1", activity: "waiting" }, 2);
    expect(markOf(s, "a1")).toBe("idle");
    s = foldPresence(s, "agent_activity_changed", { agentId: "a1", activity: null }, 3);
    expect(markOf(s, "a1")).toBe("here");
    s = foldPresence(s, "agent_status_changed", { agentId: "a1", presence: "offline" }, 4);
    expect(markOf(s, "a1")).toBe("away");
    expect(s.devices.size).toBe(0);
    s = foldPresence(s, "human_status_changed", { participantId: "p1", online: false }, 5);
    expect(markOf(s, "p1")).toBe("away");
    expect(foldPresence(s, "agent_status_changed", { agentId: "a1", online: true }, 6)).toBe(s);
    expect(foldPresence(s, "presence_snapshot", {}, 7)).toMatchObject({ known: true, people: new Set() });
  });
});

describe("presence of people met later", () => {
  const member = (id: string, online: boolean, type = "human") => ({ participantId: id, participant: { id, type, online } });
  it("is taken from the room that brings them", () => {
    const first = foldPresence(nobody, "presence_snapshot", { onlineParticipantIds: ["p1"] }, 1);
    let s = foldPresence(
      first,
      "new_conversation",
      { conversation: { id: "r", members: [member("p1", false), member("p2", true), member("p3", false)] } },
      2,
    );
    expect([markOf(s, "p1"), markOf(s, "p2"), markOf(s, "p3")]).toEqual(["here", "here", "away"]);
    s = foldPresence(s, "member_added", { conversationId: "r", member: member("p3", true) }, 3);
    expect(markOf(s, "p3")).toBe("here");
    expect(foldPresence(first, "new_conversation", { conversation: { id: "r" } }, 2)).toBe(first);
    expect(foldPresence(first, "new_conversation", { conversation: { id: "r", members: [member("a", true, "agent")] } }, 2)).toBe(first);
  });
});

describe("typing", () => {
  it("lapses by itself, sooner for people, and reads both forms", () => {
    const human = readTyping({ participant_id: "p", display_name: "Pia", participant_type: "human" }, "r");
    const agent = readTyping({ conversationId: "r", participantId: "a", participantName: "Bot", participantType: "agent", isTyping: true }, null);
    expect(human && agent).toBeTruthy();
    if (!human || !agent) return;
    const s = foldTyping(foldTyping(nobodyTypes, human, 0), agent, 0);
    expect(s.get("r")?.map((x) => x.name)).toEqual(["Pia", "Bot"]);
    expect(
      sweepTyping(s, HUMAN_TYPING_MS)
        .get("r")
        ?.map((x) => x.name),
    ).toEqual(["Bot"]);
    expect(sweepTyping(s, AGENT_TYPING_MS).size).toBe(0);
    expect(foldTyping(s, { ...agent, isTyping: false }, 1).get("r")).toHaveLength(1);
  });
});

describe("the connection", () => {
  it("never says reconnecting before the first success, and keeps its reason through failed tries", () => {
    let s = startConnection(0);
    s = foldConnection(s, { type: "closed", code: 1006 }, 1);
    expect(s.state).toBe("connecting");
    s = foldConnection(s, { type: "opened" }, 2);
    s = foldConnection(s, { type: "closed", code: 1012 }, 3);
    s = foldConnection(s, { type: "closed", code: 1006 }, 4);
    expect(s).toMatchObject({ state: "restarting", since: 3 });
    s = foldConnection(s, { type: "retry_planned", delayMs: 100, attempt: 9 }, 40_000);
    expect(s.state).toBe("reconnecting");
    s = foldConnection(s, { type: "network_lost" }, 5);
    expect(s.state).toBe("offline");
    s = foldConnection(s, { type: "network_back" }, 6);
    expect(s.state).toBe("reconnecting");
  });

  it("spreads tries and slows down", () => {
    const delays = [1, 2, 3, 4, 5, 6, 7, 20].map((n) => retryDelay(n, false, () => 0.5));
    expect(delays).toEqual([...delays].sort((a, b) => a - b));
    expect(retryDelay(99, false, () => 1)).toBeLessThanOrEqual(6500);
    expect(retryDelay(1, true, () => 0)).toBeGreaterThan(200);
  });
});

describe("the outbox", () => {
  const item = (nonce: string, at = "2026-01-01T00:00:00.000Z") => ({ nonce, conversationId: "r", content: nonce, at });

  it("sends one at a time in order, past failed ones", () => {
    let box = ["a", "b", "c"].reduce((b, n) => addItem(b, item(n)), [] as ReturnType<typeof addItem>);
    expect(nextToSend(box, "r")?.nonce).toBe("a");
    box = changeItem(box, "a", { state: "sending" });
    expect(nextToSend(box, "r")).toBeNull();
    expect(nextToSend(requeueSending(box), "r")?.nonce).toBe("a");
    box = changeItem(box, "a", { state: "failed" });
    expect(nextToSend(box, "r")?.nonce).toBe("b");
    expect(addItem(box, item("a"))).toBe(box);
  });

  it("survives a reload, is kept per person, and does not trust what is on disk", () => {
    const mine = new OutboxStorage(localStorage, "me");
    const box = addItem(addItem([], item("a")), item("b"));
    for (const x of box) mine.save({ ...x, state: "sending" });
    localStorage.setItem("agntchat.outbox.me.broken", "{");
    localStorage.setItem("agntchat.outbox.me.odd", '{"nonce":3}');
    expect(mine.load().map((x) => [x.nonce, x.state])).toEqual([
      ["a", "queued"],
      ["b", "queued"],
    ]);
    expect(new OutboxStorage(localStorage, "other").load()).toEqual([]);
    mine.clear();
    expect(mine.load()).toEqual([]);
  });
});

describe("the timeline", () => {
  const self = { id: "self", displayName: "Ada", avatarUrl: null };

  it("shows unsent words last, and never twice", () => {
    const box = addItem(addItem([], { nonce: "n1", conversationId: "a", content: "one", at: "2026-01-01T00:00:00.000Z" }), {
      nonce: "n2",
      conversationId: "a",
      content: "two",
      at: "2026-01-01T00:00:01.000Z",
    });
    const held = mergePage(emptyRoom, [message(3, { metadata: { client_nonce: "n1" }, content: "one" })]);
    const items = timelineItems(held, box, "a", self);
    expect(items.map((m) => [m.content, m.local?.state ?? "stored"])).toEqual([
      ["one", "stored"],
      ["two", "queued"],
    ]);
    expect(items.map(messageKey)).toEqual(["n1", "n2"]);
  });

  it("finds where reading stopped", () => {
    const rows = [1, 2, 4, 5].map((n) => message(n, { senderId: "p1" }));
    expect(readUpTo(rows, 0, 1, "self")).toBeNull();
    expect(readUpTo(rows, 2, 2, "self")).toBe(rows[1]?.insertedAt);
    expect(readUpTo(rows, 9, 0, "self")).toBe("");
    expect(readUpTo(rows, 2, 5, "self")).toBeNull();
    const bare = rows.map(({ messageSeq: _n, ...m }) => m as Message);
    expect(readUpTo(bare, 1, undefined, "self")).toBe(rows[2]?.insertedAt);
  });
});

describe("the dock", () => {
  it("has one row per participant: stream before activity before typing", () => {
    const presence = foldPresence(
      nobody,
      "presence_snapshot",
      {
        agentPresences: { a: "online_local", b: "online_local" },
        agentActivities: {
          a: { activity: "working", conversationIds: ["r"] },
          b: { activity: "thinking", conversationIds: ["r"] },
          c: { activity: "thinking", conversationIds: ["elsewhere"] },
        },
      },
      5,
    );
    const member = (id: string) => ({ participantId: id, participant: { id, type: "agent" as const, displayName: id.toUpperCase() } });
    const rows = activityRows({
      conversationId: "r",
      selfId: "self",
      members: [member("a"), member("b"), member("c")],
      streams: [
        {
          streamId: "s",
          senderId: "a",
          senderName: "",
          phase: "writing",
          status: "active",
          text: "",
          thoughts: [],
          steps: ["Reading"],
          startedAt: 9,
          updatedAt: 9,
        },
      ],
      presence,
      typists: [
        { participantId: "a", name: "A", kind: "agent", until: 99, since: 1 },
        { participantId: "h", name: "Hal", kind: "human", until: 99, since: 2 },
      ],
      lastSenderId: null,
    });
    // What was so at the first look began before everything else, nobody knows when.
    expect(rows.map((r) => [r.name, r.source, r.startedAt])).toEqual([
      ["B", "activity", null],
      ["Hal", "typing", 2],
      ["A", "stream", 9],
    ]);
    const began = (s: typeof presence, now: number) =>
      foldPresence(s, "agent_activity_changed", { agentId: "b", activity: "writing", conversationIds: ["r"] }, now).activities.get("b")?.since;
    expect(began(presence, 7)).toBe(7);
  });
});
