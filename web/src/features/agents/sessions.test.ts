import { describe, expect, it } from "vitest";
import type { Conversation } from "#/api/types";
import { sessionsOf } from "./sessions";

const room = (id: string, state: string | null, at = "1", agent = "a") =>
  ({ id, updatedAt: at, metadata: state ? { session: { state, agent_id: agent, last_event_at: at } } : {} }) as unknown as Conversation;

describe("B1: sessions with their state", () => {
  it("puts what waits for a person before what runs, and what has ended last, newest first", () => {
    const rooms = [room("old", "ended", "1"), room("none", null), room("new", "ended", "2"), room("runs", "running"), room("asks", "waiting")];
    expect(sessionsOf(rooms).map((s) => s.room.id)).toEqual(["asks", "runs", "new", "old"]);
  });

  it("keeps those of one agent", () => {
    expect(sessionsOf([room("x", "running", "1", "a"), room("y", "running", "1", "b")], "b").map((s) => s.room.id)).toEqual(["y"]);
  });
});
