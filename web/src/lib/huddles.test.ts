import { describe, expect, it } from "vitest";
import type { Conversation } from "#/api/types";
import { huddleOf, seatOf } from "./huddles";

const room = (extra: Partial<Conversation>): Conversation => ({
  id: "h",
  type: "group",
  insertedAt: "",
  updatedAt: "",
  parentConversationId: "r",
  ...extra,
});

describe("what a side conversation says of itself", () => {
  it("is read in both spellings", () => {
    expect(
      huddleOf(room({ metadata: { huddle_status: "resolved", huddle_topic: "sails", source_message_id: "m", huddle_outcome: "agreed" } })),
    ).toMatchObject({
      status: "resolved",
      topic: "sails",
      anchorId: "m",
      outcome: "agreed",
      sourceId: "r",
    });
    expect(huddleOf(room({ metadata: { thread_status: "abandoned", thread_topic: "ropes" } }))).toMatchObject({
      status: "abandoned",
      topic: "ropes",
    });
    expect(huddleOf(room({ metadata: { huddle_status: 7, huddle_outcome: "sunk" } }))).toMatchObject({ status: "open", outcome: "" });
  });

  it("is nothing for other rooms", () => {
    expect(huddleOf(undefined)).toBeNull();
    expect(huddleOf(room({ parentConversationId: null }))).toBeNull();
    expect(huddleOf(room({ type: "task" }))).toBeNull();
  });

  it("says who may write", () => {
    const r = room({ members: [{ participantId: "a", role: "admin" }, { participantId: "b", role: "observer" }, { participantId: "c" }] });
    expect(["a", "b", "c", "d"].map((p) => seatOf(r, p))).toEqual(["member", "observer", "member", "none"]);
  });
});
