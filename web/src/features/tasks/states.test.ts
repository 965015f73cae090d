import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Task } from "#/api/types";
import { isKey } from "#/i18n";
import { cardOf, columnOf, failureWords, filterQuery, fits, inQueueOrder, joinOf, joinWords, stateWords, toneOf, wholes, withTask } from "./states";

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

  it("folds the newest row of a task into its card", () => {
    const row = (kind: string, extra: object, meta: object = {}) => ({
      messageType: "StatusUpdate",
      content: JSON.stringify({ lifecycle_type: kind, title: "Count", assignee_name: "Nova", ...extra }),
      metadata: { task_id: "t", task_title: "Count", ...meta },
    });
    const asked = row("task_in_progress", { summary: "Which colour?", ask_id: "a" });
    expect(cardOf(row("task_delegated", {}, { task_status: "blocked" }), asked)?.summary).toBe("Which colour?");
    expect(cardOf(row("task_delegated", {}, { task_status: "in_progress" }), asked)?.summary).toBe("");
    const failed = row("task_failed", { error: { code: "rate_limited", message: "429" }, end_kind: "failed", duration_seconds: 61 });
    const card = cardOf(row("task_delegated", {}, { task_status: "failed" }), failed);
    expect(card).toMatchObject({ failure: { code: "rate_limited", message: "429" }, endKind: "failed", seconds: 61 });
    const empty = row("task_complete", { end_kind: "empty" });
    expect(toneOf("complete", cardOf(row("task_delegated", {}, { task_status: "complete" }), empty)?.endKind)).toBe("wait");
  });

  it("has words for every reason of the closed list", () => {
    const source = readFileSync("../internal/task/failure.go", "utf8");
    const codes = [...source.matchAll(/Code\w+\s*=\s*"([a-z_]+)"/g), ...source.matchAll(/\{"([a-z_]+)", "(?:tool|platform)"/g)].map((m) => m[1]);
    expect(codes.length).toBeGreaterThan(15);
    for (const code of codes) expect(isKey(`tasks.failure.${code}`), code).toBe(true);
    expect(failureWords({ code: "rate_limited", message: "429" })).toMatchObject({ detail: "429" });
    expect(failureWords({ code: "brand_new", message: "As told." })).toEqual({ title: "As told.", detail: "" });
  });

  it("says what parts are waited for", () => {
    const parts = [task("a", "complete", "1"), task("b", "pending", "1"), task("c", "failed", "1")];
    expect(joinWords(null, parts)).toBe("2 of 3 have ended");
    expect(joinWords({ mode: "all" }, parts)).toContain("all");
    expect(joinWords({ mode: "any", firedAt: "x" }, parts)).not.toBe(joinWords({ mode: "any" }, parts));
    expect(joinOf(3, 3)).toBeUndefined();
    expect(joinOf(1, 3)).toEqual({ mode: "any" });
    expect(joinOf(2, 3)).toEqual({ mode: "count", count: 2 });
  });

  it("keeps a list of one participant to what they do", () => {
    const theirs = { ...task("a", "pending", "1"), assignedTo: ["nova"] };
    expect(fits("open", theirs, "nova")).toBe(true);
    expect(fits("open", theirs, "vela")).toBe(false);
    expect(filterQuery("open", "nova").who).toBe("nova");
  });

  it("orders the queue of an agent as it will be taken", () => {
    const list = [
      { ...task("parked", "blocked", "1"), insertedAt: "1" },
      { ...task("late", "pending", "1"), insertedAt: "3" },
      { ...task("early", "pending", "1"), insertedAt: "2" },
      { ...task("urgent", "pending", "1"), insertedAt: "4", priority: 5 },
      { ...task("runs", "in_progress", "1"), insertedAt: "5" },
    ];
    expect(inQueueOrder(list).map((x) => x.id)).toEqual(["runs", "urgent", "early", "late", "parked"]);
  });

  it("leaves parts out of a list that has their whole", () => {
    const list = [
      task("whole", "complete", "1"),
      { ...task("part", "complete", "1"), parentTaskId: "whole" },
      { ...task("other", "pending", "1"), parentTaskId: "x" },
    ];
    expect(wholes(list).map((x) => x.id)).toEqual(["whole", "other"]);
  });
});
