import { describe, expect, it } from "vitest";
import type { Conversation, Receipt } from "#/api/types";
import { byMessage, readsElsewhere, withReceipt } from "./receipts";

const receipt = (messageId: string, state: Receipt["state"], at: string, agentId = "a"): Receipt => ({ messageId, agentId, state, at });

describe("B1: receipts of agents that read elsewhere", () => {
  it("keeps the newest word of each agent on each message", () => {
    const held = [receipt("m", "waiting", "1"), receipt("m", "waiting", "1", "b")];
    expect(withReceipt(held, receipt("m", "read", "2"))).toEqual([held[1], receipt("m", "read", "2")]);
    expect(withReceipt([receipt("m", "read", "2")], receipt("m", "waiting", "1"))).toEqual([receipt("m", "read", "2")]);
    expect(withReceipt(undefined, receipt("m", "read", "2"))).toBeUndefined();
  });

  it("shows waiting and read only: a turn tells its own end", () => {
    const map = byMessage([receipt("m", "waiting", "1"), receipt("m", "read", "1", "b"), receipt("n", "answered", "1")]);
    expect(map.get("m")?.map((r) => r.state)).toEqual(["waiting", "read"]);
    expect(map.has("n")).toBe(false);
  });

  it("asks only where somebody reads elsewhere", () => {
    const room = (extra: object) => ({ id: "r", type: "direct", members: [], ...extra }) as unknown as Conversation;
    expect(readsElsewhere(room({}))).toBe(false);
    expect(readsElsewhere(room({ type: "session" }))).toBe(true);
    expect(readsElsewhere(room({ members: [{ participantId: "a", participant: { externalTool: "codex" } }] }))).toBe(true);
  });
});
