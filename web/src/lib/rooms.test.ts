import { describe, expect, it } from "vitest";
import type { Conversation, Member, Message } from "#/api/types";
import { mayManage, previewOf, roomTitle, sortedMembers } from "./rooms";

const member = (id: string, name: string, type: "human" | "agent" = "human", role?: string): Member => ({
  participantId: id,
  participant: { id, type, displayName: name },
  ...(role ? { role } : {}),
});
const room = (extra: Partial<Conversation>): Conversation => ({ id: "r", type: "group", insertedAt: "", updatedAt: "", ...extra });

describe("rooms", () => {
  it("are called by their title, a direct one by the other, an untitled group by its members", () => {
    const members = [member("me", "Me"), member("a", "Ada"), member("n", "Nova", "agent")];
    expect(roomTitle(room({ title: "Launch", members }), "me")).toBe("Launch");
    expect(roomTitle(room({ members }), "me")).toBe("Ada and Nova");
    expect(roomTitle(room({ type: "direct", title: "x", members: members.slice(0, 2) }), "me")).toBe("Ada");
    expect(roomTitle(room({ type: "direct", members: [member("me", "Me")] }), "me")).toBe("Me");
  });

  it("list oneself, people, agents", () => {
    const members = [member("n", "Nova", "agent"), member("b", "Bea"), member("me", "Me"), member("a", "Ada")];
    expect(sortedMembers(members, "me").map((m) => m.participantId)).toEqual(["me", "a", "b", "n"]);
  });

  it("are managed by their maker and administrators", () => {
    expect(mayManage(room({ createdBy: "me" }), "me")).toBe(true);
    expect(mayManage(room({ members: [member("me", "Me", "human", "admin")] }), "me")).toBe(true);
    expect(mayManage(room({ members: [member("me", "Me")] }), "me")).toBe(false);
  });

  it("preview a message on one line without its marks", () => {
    const text = (content: string) => previewOf({ id: "", conversationId: "", senderId: "", insertedAt: "", content });
    expect(text("| City | Days |\n|---|---:|\n| Oslo | 3 |\n\nDone")).toBe("City, Days Oslo, 3 Done");
    expect(text("above\n\n---\n\nbelow | here")).toBe("above below | here");
    expect(text("## Plan\n- **one** [two](https://x)\n```go\nx\n```")).toBe("Plan one two x");
    expect(text("hi @[Ann Lee]")).toBe("hi @Ann Lee");
  });

  it("preview the words that go with files, or their names, never what is for models", () => {
    const sent = (content: string) =>
      previewOf({
        id: "",
        conversationId: "",
        senderId: "",
        insertedAt: "",
        content,
        readableText: 'x\n[File "tides.txt", text/plain, 5 bytes. Read it with read_attachment.]',
        fileAttachments: [
          { id: "1", filename: "tides.txt" },
          { id: "2", filename: "map.png" },
        ],
      });
    expect(sent("")).toBe("tides.txt, map.png");
    expect(sent("Keep **this**")).toBe("Keep this");
    expect(sent('{"attachmentId":"1","caption":"The tides"}')).toBe("The tides");
    expect(sent('{"attachmentId":"1"}')).toBe("tides.txt, map.png");
  });

  it("preview what the server and failed turns say in the words of the language", () => {
    const row = (extra: Partial<Message>) =>
      previewOf({ id: "", conversationId: "", senderId: "n", insertedAt: "", content: "stored words", ...extra });
    const nova = { id: "n", type: "agent" as const, displayName: "Nova" };
    expect(row({ messageType: "ErrorReport", sender: nova, metadata: { errorKind: "backend_missing" } })).toBe(
      "Nova has nothing to think with on its machine",
    );
    expect(row({ senderId: null, messageType: "Notice", metadata: { code: "agent_streak_limit", limit: 12, count: 12 } })).toContain(
      "12 messages in a row",
    );
    expect(row({ senderId: null })).toBe("stored words");
  });

  it("preview what a task came to in the words of the language", () => {
    const row = (status: string, body: object) =>
      previewOf({
        id: "",
        conversationId: "",
        senderId: "",
        insertedAt: "",
        messageType: "StatusUpdate",
        content: JSON.stringify({ title: "Paint", ...body }),
        readableText: "Done. There is nothing to show.",
        metadata: { task_id: "t", task_status: status },
      });
    expect(row("failed", { end_kind: "failed" })).toBe("Paint: Failed");
    expect(row("complete", { end_kind: "empty" })).toBe("Paint: Done, nothing to show");
    expect(row("waiting", { summary: "Which colour?", ask_id: "a" })).toBe("Paint: Which colour?");
  });
});
