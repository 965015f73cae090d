import { describe, expect, it } from "vitest";
import type { Task } from "#/api/types";
import { cardOf, columnOf, filterQuery, fits, stateWords, toneOf, withTask } from "./states";

const task = (id: string, status: string, updatedAt: string): Task => ({
  id,
  conversationId: "c",
  title: id,
  status,
  assignedTo: [],
  insertedAt: "2026-01-01T00:00:00.000000Z",
  updatedAt,
});

describe("T1: how tasks stand", () => {
  it("puts every state into one column", () => {
    for (const [status, column] of [
      ["pending", "waiting"],
      ["accepted", "working"],
      ["in_progress", "working"],
      ["blocked", "parked"],
      ["waiting", "parked"],
      ["complete", "ended"],
      ["failed", "ended"],
      ["cancelled", "ended"],
      ["rejected", "ended"],
      ["exhausted", "ended"],
    ] as const)
      expect(columnOf(status)).toBe(column);
  });

  it("tells ends apart in words and colour", () => {
    expect(stateWords("complete", "empty")).not.toBe(stateWords("complete", "done"));
    expect(stateWords("failed", "lost")).not.toBe(stateWords("failed", "failed"));
    expect(toneOf("complete", "empty")).toBe("wait");
    expect(toneOf("complete", "done")).toBe("good");
    expect(toneOf("failed")).toBe("bad");
  });

  it("keeps lists by what an event says, never going back", () => {
    const held = [task("a", "pending", "2"), task("b", "pending", "1")];
    expect(withTask(held, task("b", "in_progress", "3"), "open").map((x) => x.id)).toEqual(["b", "a"]);
    expect(withTask(held, task("a", "complete", "3"), "open").map((x) => x.id)).toEqual(["b"]);
    expect(withTask(held, task("a", "complete", "1"), "open")[0]?.status).toBe("pending");
    expect(withTask(held, task("c", "pending", "3"), "mine").map((x) => x.id)).toEqual(["a", "b"]);
    expect(fits("ended", task("a", "failed", "1"))).toBe(true);
    expect(filterQuery("all")).toEqual({});
    expect(filterQuery("mine").mine).toBe(true);
  });

  it("reads the card of a room, and its newest state before its first one", () => {
    const row = { messageType: "StatusUpdate", content: JSON.stringify({ title: "Old", status: "pending", assignee_name: "Nova" }) };
    expect(cardOf({ ...row, metadata: {} })).toBeNull();
    const card = cardOf({ ...row, metadata: { task_id: "t", task_status: "complete", task_title: "New" } });
    expect(card).toMatchObject({ id: "t", title: "New", status: "complete", who: "Nova" });
    expect(cardOf({ ...row, content: "not JSON", metadata: { task_id: "t" }, taskSnapshot: { status: "failed", title: "T" } })).toMatchObject({
      status: "failed",
      title: "T",
    });
    expect(cardOf({ messageType: null, content: "x", metadata: { task_id: "t" } })).toBeNull();
  });
});
