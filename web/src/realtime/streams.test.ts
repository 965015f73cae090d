import { describe, expect, it } from "vitest";
import { foldFrame, LINGER_MS, messageLanded, nextSweep, noStreams, STALE_MS, type StreamFrame, type StreamState, sweepStreams } from "./streams";
import { seeded } from "./testing/random";

const frame = (extra: Partial<StreamFrame> = {}): StreamFrame => ({
  streamId: "s1",
  senderId: "a",
  senderName: "Ann",
  status: "streaming",
  ...extra,
});
const run = (frames: Partial<StreamFrame>[], start: StreamState = noStreams) => frames.reduce((s, f, i) => foldFrame(s, frame(f), i), start);

describe("streams", () => {
  it("reads a missing phase as thinking and shows text only while writing", () => {
    expect(run([{ status: "started" }]).streams[0]).toMatchObject({ phase: "thinking", text: "" });
    expect(run([{ phase: "analyzing", content: "secret draft" }]).streams[0]?.text).toBe("");
    expect(
      run([
        { phase: "writing", content: "Hel" },
        { phase: "writing", content: "Hello" },
      ]).streams[0]?.text,
    ).toBe("Hello");
  });

  it("keeps what was written before the agent went back to work as a thought", () => {
    const s = run([
      { phase: "writing", content: "Let me look at the file." },
      { phase: "tool_call", phaseDetail: "Reading main.go" },
      { phase: "writing", content: "Let me look at the file.\n\nIt is fine." },
    ]).streams[0];
    expect(s?.thoughts).toEqual(["Let me look at the file."]);
    expect(s?.text).toBe("It is fine.");
    expect(s?.steps).toEqual(["Reading main.go"]);
    expect(run([{ phase: "writing", content: "Hm." }, { phase: "thinking" }]).streams[0]?.thoughts).toEqual([]);
  });

  it("keeps the last eight distinct steps", () => {
    const s = run(Array.from({ length: 12 }, (_, i) => ({ phase: "tool_call" as const, phaseDetail: `step ${Math.floor(i / 1.2)}` }))).streams[0];
    expect(s?.steps).toHaveLength(8);
    expect(new Set(s?.steps).size).toBe(8);
  });

  it("ignores the server's instant thinking signal, shows queued and waiting", () => {
    expect(run([{ streamId: "signal:1", phase: "thinking" }]).streams).toEqual([]);
    expect(run([{ streamId: "signal:1", phase: "queued" }]).streams[0]?.phase).toBe("queued");
  });

  it("lets a new active stream take the place of the sender's earlier ones, never a passive one", () => {
    const active = run([{ phase: "writing", content: "one" }]);
    expect(foldFrame(active, frame({ streamId: "signal:2", phase: "waiting" }), 5)).toBe(active);
    const two = run(
      [
        { streamId: "b1", senderId: "b" },
        { streamId: "s2", phase: "thinking" },
      ],
      active,
    );
    expect(two.streams.map((s) => s.streamId)).toEqual(["s2", "b1"]);
  });

  it("keeps a finished one for a moment and drops a silent one", () => {
    let s = run([{ phase: "writing", content: "x" }, { status: "complete" }]);
    expect(s.streams[0]?.status).toBe("done");
    expect(nextSweep(s, 1)).toBe(LINGER_MS);
    expect(sweepStreams(s, 1 + LINGER_MS - 1)).toBe(s);
    s = sweepStreams(s, 1 + LINGER_MS);
    expect(s.streams).toEqual([]);
    const silent = run([{ phase: "thinking" }]);
    expect(sweepStreams(silent, STALE_MS - 1).streams).toHaveLength(1);
    expect(sweepStreams(silent, STALE_MS).streams).toEqual([]);
  });

  it("cancels by id; an unknown id ends only what the sender has waiting", () => {
    expect(run([{}, { status: "cancelled" }]).streams).toEqual([]);
    expect(
      run([
        { phase: "writing", content: "x" },
        { streamId: "other", status: "cancelled" },
      ]).streams,
    ).toHaveLength(1);
    expect(
      run([
        { streamId: "signal:1", phase: "queued" },
        { streamId: "other", status: "cancelled" },
      ]).streams,
    ).toEqual([]);
  });

  it("never brings back what has ended (random frames)", () => {
    for (let seed = 1; seed <= 200; seed++) {
      const r = seeded(seed);
      let s = noStreams;
      for (let i = 0; i < 40; i++) {
        const f = frame({
          streamId: r.pick(["s1", "s2", "s3", "signal:1"]),
          senderId: r.pick(["a", "b"]),
          status: r.pick(["started", "streaming", "streaming", "complete", "cancelled"] as const),
          phase: r.pick(["thinking", "writing", "tool_call", "queued", undefined] as const),
          content: r.chance(0.5) ? "some words" : undefined,
        });
        const before = s;
        s = r.chance(0.15) ? messageLanded(s, f.senderId, f.streamId) : foldFrame(s, f, i);
        for (const x of s.streams) {
          const was = before.streams.find((y) => y.streamId === x.streamId);
          if (before.ended.includes(x.streamId)) expect(was, `seed ${seed}`).toBeDefined();
          if (x.phase !== "writing") expect(x.text).toBe("");
        }
        for (const sender of ["a", "b"]) {
          const active = s.streams.filter((x) => x.senderId === sender && x.status === "active" && x.phase !== "queued");
          expect(active.length, `seed ${seed}`).toBeLessThanOrEqual(1);
        }
      }
      const end = sweepStreams(s, 10_000_000);
      expect(end.streams).toEqual([]);
      expect(end.kept).toEqual({});
    }
  });
});
