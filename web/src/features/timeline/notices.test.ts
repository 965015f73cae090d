import { afterEach, describe, expect, it } from "vitest";
import type { Message } from "#/api/types";
import { setLocale } from "#/i18n";
import { failureText, notAnsweredText, noticeText } from "./notices";

const row = (metadata: Message["metadata"], content = "stored words"): Message => ({
  id: "m",
  conversationId: "c",
  senderId: null,
  content,
  insertedAt: "2026-01-01T00:00:00.000000Z",
  ...(metadata ? { metadata } : {}),
});

describe("rows the server writes", () => {
  afterEach(() => setLocale("en"));

  it("are said from the catalogue in the reader's language", () => {
    expect(noticeText(row({ code: "member_added", name: "Nova" }))).toBe("Nova joined");
    setLocale("zh-CN");
    expect(noticeText(row({ code: "member_added", params: { name: "Nova" } }))).toBe("Nova 加入了");
  });

  it("fall back to the stored words for an unknown code or a missing parameter", () => {
    expect(noticeText(row({ code: "something_new" }))).toBe("stored words");
    expect(noticeText(row({ code: "member_added" }))).toBe("stored words");
    expect(noticeText(row(undefined))).toBe("stored words");
  });

  it("say what failed and what to do", () => {
    const failure = failureText(row({ code: "auth_failure" }, "401 invalid x-api-key"), "Nova");
    expect(failure.title).toContain("Nova");
    expect(failure.hint).toBeTruthy();
    expect(failure.detail).toBe("401 invalid x-api-key");
    expect(failureText(row({ code: "novel" }), "Nova").title).toBe("Nova could not answer");
    expect(failureText(row({ errorKind: "auth_failure" }), "Nova").hint).toBeTruthy();
  });

  it("say why there is no answer", () => {
    const text = (reason: string, agents?: string[]) =>
      notAnsweredText(
        { reason, agents },
        (id) => (id === "1" ? "Nova" : ""),
        (n) => n.join("+"),
      );
    expect(text("stopped", ["1"])).toBe("Not answered by Nova: stopped");
    expect(text("expired")).toBe("Not answered in time");
    expect(text("strange", ["1"])).toBe("Not answered");
  });
});
