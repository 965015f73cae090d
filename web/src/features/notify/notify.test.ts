import { describe, expect, it } from "vitest";
import { busyNotice, callFor, callForRequest, type Situation, writerNotice } from "./notify";

const away: Situation = { selfId: "me", attentive: false, preferences: { messages: true } };
const update = (extra: object = {}, message: object = {}) => ({
  conversationId: "r",
  notificationCategory: "messages",
  lastMessage: {
    id: "m",
    senderId: "p",
    sender: { id: "p", type: "human", displayName: "Ada" },
    content: "Hello\n\nthere",
    insertedAt: "",
    conversationId: "r",
    ...message,
  },
  ...extra,
});

describe("calls", () => {
  it("names the sender and the first words on one line", () => {
    expect(callFor(update(), away)).toEqual({ title: "Ada", body: "Hello there", conversationId: "r" });
    expect([...(callFor(update({}, { content: "字".repeat(300) }), away)?.body ?? "")]).toHaveLength(100);
  });

  it.each([
    ["looking at the page", update(), { ...away, attentive: true }],
    ["own words", update({}, { senderId: "me" }), away],
    ["a line of the server", update({}, { senderId: null }), away],
    ["not for this person", update({ notificationCategory: null }), away],
    ["reminders", update({ notificationCategory: "reminders" }), away],
    ["switched off", update(), { ...away, preferences: { messages: false } }],
    ["preferences unknown", update(), { ...away, preferences: null }],
    ["nothing to read", update({}, { content: " " }), away],
  ])("is quiet: %s", (_name, payload, situation) => {
    expect(callFor(payload, situation as Situation)).toBeNull();
  });

  it("leads to the task that it is about, unless tasks are switched off", () => {
    const done = update({ notificationCategory: "task_completed" }, { metadata: { task_report: "t" } });
    expect(callFor(done, away)).toMatchObject({ taskId: "t", conversationId: "r" });
    expect(callFor(done, { ...away, preferences: { messages: true, task_completed: false } })).toBeNull();
    expect(callFor(update({}, { metadata: { task_report: "t" } }), away)).not.toHaveProperty("taskId");
  });

  it("calls for a category that the preferences do not name", () => {
    expect(callFor(update({ notificationCategory: "mentions" }), away)).not.toBeNull();
  });
});

describe("calls for a decision", () => {
  const asked = {
    id: "r",
    agentName: "Nova",
    toolName: "Bash",
    status: "pending",
    notificationCategory: "mentions",
    toolInput: { command: "rm -rf x" },
  };

  it("come like a mention, and do not say what would run", () => {
    const call = callForRequest(asked, away);
    expect(call?.title).toContain("Nova");
    expect(call?.body).toContain("Bash");
    expect(JSON.stringify(call)).not.toContain("rm -rf");
  });

  it("stay away from who looks, who wants no mentions, and of what is over", () => {
    expect(callForRequest(asked, { ...away, attentive: true })).toBeNull();
    expect(callForRequest(asked, { ...away, preferences: { mentions: false } })).toBeNull();
    expect(callForRequest(asked, { ...away, preferences: null })).toBeNull();
    expect(callForRequest({ ...asked, status: "expired" }, away)).toBeNull();
  });
});

describe("notices to the writer", () => {
  it("are said in the catalogue's words, or as the server wrote them", () => {
    expect(writerNotice({ code: "mention_may_not_add", params: { names: ["Bo", "Cy"] }, text: "x" })).toContain("Bo, Cy");
    expect(writerNotice({ code: "mention_may_not_add", params: {}, text: "As written." })).toBe("As written.");
    expect(writerNotice({ code: "brand_new", text: "As written." })).toBe("As written.");
  });
});

describe("an agent that is busy elsewhere", () => {
  const busy = { agentId: "a", agentName: "Nova", parentConversationId: "r", workConversationId: "w", taskId: "t", taskTitle: "Tidy up" };

  it("is told with the way to it, but not to who is there", () => {
    expect(busyNotice(busy, "/rooms/r")).toMatchObject({ room: "w", title: expect.stringContaining("Tidy up") });
    expect(busyNotice({ ...busy, taskTitle: "字".repeat(200) }, "/")?.title.length).toBeLessThan(100);
    expect(busyNotice(busy, "/rooms/w")).toBeNull();
    expect(busyNotice({ ...busy, workConversationId: "" }, "/")).toBeNull();
  });
});
