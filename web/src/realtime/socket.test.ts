import { describe, expect, it } from "vitest";
import { isInternal, readReply } from "./socket";

describe("frames", () => {
  it("passes our events and keeps Phoenix's own, also the nameless one of a lost push", () => {
    expect(["phx_reply", "phx_error", "chan_reply_7", null, undefined].every(isInternal)).toBe(true);
    expect(["new_message", "recent_messages", "notice"].some(isInternal)).toBe(false);
  });

  it("reads every form of a refusal", () => {
    expect(readReply({ reason: "unauthorized" })).toEqual({ code: "unauthorized", message: "" });
    expect(readReply({ reason: "invalid", code: "too_long", message: "Too long." })).toEqual({ code: "too_long", message: "Too long." });
    expect(readReply({ error: { code: "x", message: "y" } })).toEqual({ code: "x", message: "y" });
    expect(readReply(undefined)).toEqual({ code: "error", message: "" });
  });
});
