import { describe, expect, it } from "vitest";
import type { Message } from "#/api/types";
import { noticeText } from "#/lib/notices";
import { connectLine, stateText, whereText } from "#/lib/terminal";

const line = (body: object): Message =>
  ({
    id: "m",
    conversationId: "c",
    senderId: "a",
    content: JSON.stringify(body),
    messageType: "StatusUpdate",
    insertedAt: "2026-12-01T00:00:00Z",
  }) as Message;

describe("terminal", () => {
  it("writes the line to run", () => {
    expect(connectLine("https://chat.example.org", "codex", "inv_x")).toBe(
      "agnt connect --session --tool codex --url https://chat.example.org inv_x",
    );
  });

  it("tells where a session runs", () => {
    expect(whereText({ repo: "org/app", branch: "main", cwd: "/src/app", hostname: "desk" })).toBe("org/app (main) · desk");
    expect(whereText({ cwd: "/src/app" })).toBe("/src/app");
    expect(whereText({})).toBe("");
  });

  it("tells what a session waits for", () => {
    expect(stateText("waiting", "permission_prompt")).not.toBe(stateText("waiting"));
    expect(stateText("ended")).not.toBe(stateText("unlinked"));
  });

  it("says start and end in the room, also of a lost one", () => {
    const started = noticeText(line({ type: "external_session_started", tool: "claude_code", repo: "org/app", hostname: "desk" }));
    expect(started).toContain("Claude Code");
    expect(started).toContain("org/app · desk");
    const ended = noticeText(line({ type: "external_session_ended", tool: "codex", stats: { prompts: 3, tool_calls: 7 } }));
    expect(ended).toContain("3");
    expect(ended).toContain("7");
    expect(noticeText(line({ type: "external_session_ended", tool: "codex", reason: "lost" }))).not.toBe(
      noticeText(line({ type: "external_session_ended", tool: "codex" })),
    );
    expect(noticeText({ ...line({}), content: "plain words" })).toBe("plain words");
  });
});
