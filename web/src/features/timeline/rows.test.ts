import { describe, expect, it } from "vitest";
import { buildRows, type TimelineMessage } from "./rows";

const base = Date.parse("2026-03-02T10:00:00.000000Z");
let n = 0;
function msg(senderId: string | null, minutes: number, extra: Partial<TimelineMessage> = {}): TimelineMessage {
  n++;
  return { id: `m${n}`, conversationId: "c", senderId, content: `text ${n}`, insertedAt: new Date(base + minutes * 60_000).toISOString(), ...extra };
}
const rows = (items: TimelineMessage[], extra: Partial<Parameters<typeof buildRows>[0]> = {}) =>
  buildRows({ items, streams: [], selfId: "me", readUpTo: null, reachedStart: false, ...extra });
const kinds = (items: TimelineMessage[], extra?: Partial<Parameters<typeof buildRows>[0]>) => rows(items, extra).map((r) => r.kind);

describe("rows of a timeline", () => {
  it("makes blocks of one author, broken by another author, a pause, or a reply", () => {
    const first = msg("a", 0);
    const list = [first, msg("a", 1), msg("b", 2), msg("b", 12), msg("b", 13, { parentMessageId: first.id })];
    const shown = rows(list).filter((r) => r.kind === "message");
    expect(shown.map((r) => r.kind === "message" && r.first)).toEqual([true, false, true, true, true]);
    expect(shown[4]).toMatchObject({ parent: { id: first.id } });
  });

  it("lets every answer of an agent stand by itself, but for the parts of one turn", () => {
    const agent = { sender: { id: "ai", type: "agent" as const, displayName: "Nova" } };
    const list = [
      msg("ai", 0, { ...agent, turnGroupId: "t1" }),
      msg("ai", 0, { ...agent, turnGroupId: "t1" }),
      msg("ai", 1, agent),
      msg("ai", 1, agent),
    ];
    expect(rows(list).flatMap((r) => (r.kind === "message" ? [r.first] : []))).toEqual([true, false, true, true]);
  });

  it("puts a divider before each day", () => {
    expect(kinds([msg("a", 0), msg("a", 60 * 24), msg("a", 60 * 24 + 1)])).toEqual(["day", "message", "day", "message", "message"]);
  });

  it("puts one unread divider before the first message of others after the reading point", () => {
    const list = [msg("a", 0), msg("me", 1), msg("a", 2), msg("a", 3)];
    expect(kinds(list, { readUpTo: list[0]?.insertedAt ?? null })).toEqual(["day", "message", "message", "unread", "message", "message"]);
    expect(kinds(list, { readUpTo: list[3]?.insertedAt ?? null })).not.toContain("unread");
    expect(kinds(list)).not.toContain("unread");
  });

  it("finds the reading point by number when it lies before what was loaded at first", () => {
    const all = [1, 2, 3, 4].map((seq) => msg("a", seq, { messageSeq: seq }));
    const place = (items: TimelineMessage[]) => kinds(items, { readUpTo: "", readSeq: 2 });
    expect(place(all.slice(3))).toEqual(["day", "unread", "message"]);
    expect(place(all)).toEqual(["day", "message", "message", "unread", "message", "message"]);
  });

  it("hides what is not for people and sets notices and errors apart", () => {
    const list = [
      msg("a", 0, { messageType: "EndTurn" }),
      msg(null, 1),
      msg("a", 2, { messageType: "ErrorReport" }),
      msg("a", 3, { threadOnly: true }),
    ];
    expect(kinds(list)).toEqual(["day", "notice", "error"]);
  });

  it("keeps the key of a placeholder and of a stream", () => {
    const waiting = msg("me", 0, { local: { nonce: "x", state: "sending" } });
    const stored = msg("me", 0, { metadata: { client_nonce: "x" } });
    expect(rows([waiting])[1]?.key).toBe(rows([stored])[1]?.key);
    const stream = { streamId: "s1", senderId: "ai", phase: "writing", text: "so far", startedAt: base };
    const growing = rows([], { streams: [stream] })[0];
    const done = rows([msg("ai", 1, { metadata: { stream_id: "s1" } })], { streams: [stream] });
    expect(done.filter((r) => r.key === growing?.key)).toHaveLength(1);
    expect(done).toHaveLength(2);
  });

  it("never uses a key twice", () => {
    const list = [msg("ai", 0, { metadata: { stream_id: "s" } }), msg("ai", 1, { metadata: { stream_id: "s" } })];
    expect(new Set(rows(list).map((r) => r.key)).size).toBe(3);
  });

  it("makes one card of all rows of a task, and one line where it stopped further below", () => {
    const stage = (minutes: number, kind: string, task = "t") =>
      msg("ai", minutes, { messageType: "StatusUpdate", metadata: { task_id: task }, content: JSON.stringify({ lifecycle_type: kind }) });
    const [asked, ended] = [stage(0, "task_delegated"), stage(1, "task_failed")];
    const near = rows([asked, ended]);
    expect(near.map((r) => r.kind)).toEqual(["day", "task"]);
    expect(near[1]).toMatchObject({ message: { id: asked.id }, latest: { id: ended.id } });
    const far = rows([asked, stage(0, "task_delegated", "u"), msg("a", 1), ended]);
    expect(far.map((r) => r.kind)).toEqual(["day", "task", "task", "message", "taskNote"]);
    expect(far[1]).toMatchObject({ latest: { id: ended.id } });
  });

  it("hides the stages and nudges of tasks, and nothing that names no task", () => {
    const list = [
      msg("ai", 0, { messageType: "TaskProgress", metadata: { task_id: "t" } }),
      msg("ai", 1, { messageType: "StatusUpdate", metadata: { task_id: "t", parked_recheck: true } }),
      msg("ai", 2, { messageType: "TaskComplete" }),
    ];
    expect(kinds(list)).toEqual(["day", "message"]);
  });

  it("puts huddles under their message, else where they were opened, and none that belongs to history that is not loaded", () => {
    const [one, two, gone] = [msg("a", 0), msg("b", 5), msg("b", 6, { messageType: "EndTurn" })];
    const at = (minutes: number) => new Date(base + minutes * 60_000).toISOString();
    const huddles = [
      { id: "old", anchorId: "", at: at(-9) },
      { id: "first", anchorId: one.id, at: at(8) },
      { id: "hidden", anchorId: gone.id, at: at(3) },
      { id: "late", anchorId: "elsewhere", at: at(9) },
    ];
    const keys = (reachedStart: boolean) => rows([one, two, gone], { huddles, reachedStart }).map((r) => (r.kind === "huddle" ? r.id : r.kind));
    expect(keys(false)).toEqual(["day", "message", "first", "hidden", "message", "late"]);
    expect(keys(true)).toEqual(["start", "old", "day", "message", "first", "hidden", "message", "late"]);
  });
});
