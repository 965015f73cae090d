import { describe, expect, it } from "vitest";
import { applyChanges, applyEvent, drain } from "./applyEvent";
import { emptyRoom, mergePage, mergeSnapshot, messagesOf, type RoomState, restart } from "./room";
import { type Random, seeded } from "./testing/random";
import { message, plain, World } from "./testing/world";

const WINDOW = 6;

function event(room: RoomState, world: World, seq: number): RoomState {
  const change = world.changes[seq - 1];
  if (!change) throw new Error(`no change ${seq}`);
  return applyEvent(room, change.event, change.payload).room;
}

function heal(start: RoomState, world: World): RoomState {
  let room = start;
  for (let i = 0; i < 1000; i++) {
    const page = world.changesAfter(room.seq ?? 0, world.version, 7);
    const result = applyChanges(room, page.changes, page.seq);
    room = result.room;
    if (!result.more && !result.heal) return room;
  }
  throw new Error("healing does not end");
}

/** Loads everything older, as a reader who scrolls to the top. */
function loadAll(start: RoomState, world: World): RoomState {
  let room = start;
  for (let i = 0; i < 1000 && room.start !== "reached"; i++) {
    const oldest = room.rows.get(room.order[0] ?? "");
    const page = world.page(world.version, WINDOW, oldest?.insertedAt);
    room = mergePage(room, page.messages, WINDOW);
  }
  return room;
}

describe("applyEvent", () => {
  it("applies what is next, ignores what was, holds what is ahead", () => {
    const world = new World();
    for (let i = 0; i < 4; i++) world.post();
    let room: RoomState = { ...emptyRoom, seq: 0 };
    room = event(room, world, 1);
    expect(event(room, world, 1)).toBe(room);
    const gap = applyEvent(room, "new_message", world.changes[2]?.payload ?? {});
    expect(gap.heal).toBe(true);
    expect(messagesOf(gap.room).map((m) => m.id)).toEqual(["m1"]);
    room = event(gap.room, world, 2);
    expect(room.seq).toBe(3);
    expect(messagesOf(room).map((m) => m.id)).toEqual(["m1", "m2", "m3"]);
    expect(room.ahead).toEqual([]);
  });

  it("takes two events of one version, each once", () => {
    const room: RoomState = { ...emptyRoom, seq: 4 };
    const one = applyEvent(room, "new_message", { ...message(1), seq: 5 }).room;
    const two = applyEvent(one, "new_message", { ...message(2), seq: 5 }).room;
    expect(messagesOf(two)).toHaveLength(2);
    expect(applyEvent(two, "new_message", { ...message(1), seq: 5 }).room).toBe(two);
  });

  it("is not moved by ephemeral events, whatever seq they carry", () => {
    const room: RoomState = { ...emptyRoom, seq: 4 };
    expect(applyEvent(room, "message_streaming", { seq: 9 })).toEqual({ room, heal: false });
    expect(applyEvent(room, "typing_indicator", { seq: 9 })).toEqual({ room, heal: false });
  });

  it("moves on over kinds of changes it does not know", () => {
    const room: RoomState = { ...emptyRoom, seq: 4 };
    expect(applyEvent(room, "goal_painted_blue", { seq: 5 }).room.seq).toBe(5);
  });

  it("works with a server that has no versions", () => {
    const one = applyEvent(emptyRoom, "new_message", message(1) as never).room;
    const two = applyEvent(one, "message_deleted", { messageId: "m1" }).room;
    expect(messagesOf(one)).toHaveLength(1);
    expect(messagesOf(two)).toHaveLength(0);
  });

  it("does not bring a deleted message back from a page read before", () => {
    const world = new World();
    world.post();
    world.post();
    const early = world.page(2, 10);
    world.delete("m1");
    let room: RoomState = { ...emptyRoom, seq: 2 };
    room = event(room, world, 3);
    room = mergePage(room, early.messages, 10);
    expect(messagesOf(room).map((m) => m.id)).toEqual(["m2"]);
  });

  it("keeps a change for a row that is loaded later from an old page", () => {
    const world = new World();
    world.post();
    const early = world.page(1, 10);
    world.setMetadata("m1", { note: 7 });
    world.react("m1", "+1", "p1", true);
    let room: RoomState = { ...emptyRoom, seq: 1 };
    room = event(event(room, world, 2), world, 3);
    room = mergePage(room, early.messages, 10);
    expect(plain(messagesOf(room))).toEqual(plain(world.messages));
  });

  it("takes rows that a snapshot misses inside its span as deleted", () => {
    const world = new World();
    for (let i = 0; i < 5; i++) world.post();
    let room = mergeSnapshot(emptyRoom, world.window(5, 10).messages, 5).room;
    world.delete("m3");
    const merged = mergeSnapshot(room, world.window(6, 10).messages, 6);
    room = merged.room;
    expect(merged.heal).toBe(true);
    expect(messagesOf(room).map((m) => m.id)).toEqual(["m1", "m2", "m4", "m5"]);
  });

  it("begins again when nothing ties a versionless snapshot to what is held", () => {
    const world = new World();
    for (let i = 0; i < 40; i++) world.post();
    const held = mergePage(emptyRoom, world.page(5, 5).messages);
    const room = mergeSnapshot(held, world.window(40, 5).messages, null).room;
    expect(messagesOf(room).map((m) => m.id)).toEqual(["m36", "m37", "m38", "m39", "m40"]);
  });

  it("starts anew after a reset and applies what waited", () => {
    const world = new World();
    for (let i = 0; i < 9; i++) world.post();
    const ahead = [{ event: "new_message", payload: world.changes[8]?.payload ?? {}, seq: 9 }];
    const room = drain(restart(8, world.page(8, 5).messages, 5, ahead));
    expect(room.seq).toBe(9);
    expect(messagesOf(room).map((m) => m.id)).toEqual(["m4", "m5", "m6", "m7", "m8", "m9"]);
  });

  it("does not treat an answer of changes without rows as a gap for ever", () => {
    const { room, heal: again } = applyChanges({ ...emptyRoom, seq: 3 }, [], 5);
    expect(room.seq).toBe(5);
    expect(again).toBe(false);
  });
});

describe("any delivery of the same history", () => {
  /** One reader: events late, lost, doubled, out of order; snapshots, pages and heals at random moments. */
  function read(r: Random, world: World, live: () => void): RoomState {
    let room: RoomState = emptyRoom;
    let underway: number[] = [];
    const deliverSome = () => {
      const now = r.shuffle(underway).slice(0, r.int(underway.length + 1));
      for (const seq of now) {
        room = event(room, world, seq);
        if (r.chance(0.2)) room = event(room, world, seq);
      }
      underway = underway.filter((s) => !now.includes(s) || r.chance(0.1));
    };
    let sent = 0;
    for (let i = 0; i < 60; i++) {
      live();
      for (; sent < world.version; sent++) if (!r.chance(0.15)) underway.push(sent + 1);
      const roll = r();
      if (roll < 0.5) deliverSome();
      else if (roll < 0.6) {
        const w = world.window(world.version, WINDOW);
        const merged = mergeSnapshot(room, w.messages, w.seq);
        room = drain(merged.room);
        if (merged.heal) room = heal(room, world);
      } else if (roll < 0.7 && room.order.length > 0 && room.seq !== null && room.start !== "reached") {
        const oldest = room.rows.get(room.order[0] ?? "");
        room = mergePage(room, world.page(world.version, WINDOW, oldest?.insertedAt).messages, WINDOW);
      } else if (roll < 0.75 && room.seq !== null) room = heal(room, world);
      else if (roll < 0.77) {
        const page = world.page(world.version, WINDOW);
        room = drain(restart(world.version, page.messages, WINDOW, room.ahead));
      }
    }
    const w = world.window(world.version, WINDOW);
    const merged = mergeSnapshot(room, w.messages, w.seq);
    room = heal(drain(merged.room), world);
    return loadAll(room, world);
  }

  it("ends in the room the server has (300 random histories)", { timeout: 60_000 }, () => {
    for (let seed = 1; seed <= 300; seed++) {
      const r = seeded(seed);
      const world = new World();
      const room = read(r, world, () => {
        for (let n = r.int(3); n > 0; n--) world.randomChange(r);
      });
      expect(plain(messagesOf(room)), `seed ${seed}`).toEqual(plain(world.messages));
      expect(room.seq, `seed ${seed}`).toBe(world.version);
      expect(room.ahead, `seed ${seed}`).toEqual([]);
    }
  });

  it("keeps the order of time at every step", { timeout: 60_000 }, () => {
    for (let seed = 1000; seed < 1040; seed++) {
      const r = seeded(seed);
      const world = new World();
      for (let i = 0; i < 40; i++) world.randomChange(r);
      let room: RoomState = { ...emptyRoom, seq: 0 };
      for (const c of r.shuffle(world.changes)) {
        room = applyEvent(room, c.event, c.payload).room;
        const times = messagesOf(room).map((m) => m.insertedAt);
        expect(times, `seed ${seed}`).toEqual([...times].sort());
      }
      expect(plain(messagesOf(room)), `seed ${seed}`).toEqual(plain(world.messages));
    }
  });
});
