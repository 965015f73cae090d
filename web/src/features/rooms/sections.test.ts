import { describe, expect, it } from "vitest";
import type { Agent, Conversation } from "#/api/types";
import { badge, buildSections, type RoomEntry } from "./sections";

const person = (id: string, displayName: string, type: "human" | "agent" = "human") => ({
  participantId: id,
  participant: { id, type, displayName },
});
const me = person("me", "Me");
const room = (id: string, type: Conversation["type"], others: ReturnType<typeof person>[], title?: string): Conversation => ({
  id,
  type,
  ...(title ? { title } : {}),
  insertedAt: "",
  updatedAt: "",
  members: [me, ...others],
});
const entry = (r: Conversation, unread = 0, mentioned = false): RoomEntry => ({ room: r, unread, mentioned });
const agents: Agent[] = [
  { id: "nova", displayName: "Nova" },
  { id: "old", displayName: "Old", status: "deactivated" },
  { id: "zed", displayName: "Zed" },
];
const entries = [
  entry(room("g", "group", [person("ada", "Ada"), person("nova", "Nova", "agent")], "Launch"), 3, true),
  entry(room("d1", "direct", [person("ada", "Ada")]), 2),
  entry(room("d2", "direct", [person("nova", "Nova", "agent")])),
];
const build = (extra: Partial<Parameters<typeof buildSections>[0]> = {}) =>
  buildSections({ entries, agents, selfId: "me", filter: "all", query: "", ...extra }).map((s) => s.rows.map((r) => r.title));

describe("sections of the sidebar", () => {
  it("puts people and agents beside rooms, each once, and offers agents without a room", () => {
    expect(build()).toEqual([["Launch"], ["Ada"], ["Nova", "Zed"]]);
  });
  it("filters by unread and mentions and keeps the open room", () => {
    expect(build({ filter: "unread" })).toEqual([["Launch"], ["Ada"], []]);
    expect(build({ filter: "mentions" })).toEqual([["Launch"], [], []]);
    expect(build({ filter: "mentions", openId: "d2" })).toEqual([["Launch"], [], ["Nova"]]);
  });
  it("finds a room by its title or a member", () => {
    expect(build({ query: "lau" })).toEqual([["Launch"], [], []]);
    expect(build({ query: "ad" })).toEqual([["Launch"], ["Ada"], []]);
    expect(build({ query: "zed" })).toEqual([[], [], ["Zed"]]);
  });
  it("caps the badge", () => {
    expect([badge(7), badge(99), badge(100)]).toEqual(["7", "99", "99+"]);
  });
});
