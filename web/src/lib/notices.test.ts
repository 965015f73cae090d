import { afterEach, describe, expect, it } from "vitest";
import type { Message } from "#/api/types";
import { setLocale } from "#/i18n";
import { en } from "#/i18n/en";
import { zhCN } from "#/i18n/zh-CN";
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
    const notice = row({ code: "agent_streak_limit", params: { limit: 12 } });
    expect(noticeText(notice)).toBe("Agents have written 12 messages in a row. They pause until a person writes.");
    setLocale("zh-CN");
    expect(noticeText(notice)).toBe("智能体已连续写了 12 条消息，有人发言后才会继续。");
  });

  it("fall back to the stored words for an unknown code or a missing parameter", () => {
    expect(noticeText(row({ code: "something_new" }))).toBe("stored words");
    expect(noticeText(row({ code: "agent_streak_limit" }))).toBe("stored words");
    expect(noticeText(row(undefined))).toBe("stored words");
  });

  it("say what failed and what to do", () => {
    const failure = failureText(row({ error_code: "auth_failure", errorKind: "auth_failure", detail: "401 invalid x-api-key" }), "Nova");
    expect(failure.title).toContain("Nova");
    expect(failure.hint).toBeTruthy();
    expect(failure.detail).toBe("401 invalid x-api-key");
    expect(failureText(row({ error_code: "turn_timeout" }), "Nova").title).toBe("Nova took too long");
    expect(failureText(row({ errorKind: "rate_limit" }), "Nova").hint).toBeTruthy();
    expect(failureText(row({ error_code: "novel" }), "Nova")).toEqual({ title: "Nova could not answer", hint: null, detail: "stored words" });
  });

  it("do not speak of trying again: a turn has no button for it", () => {
    for (const [key, text] of Object.entries({ ...en })) if (/^failure\..*\.hint$/.test(key)) expect(text).not.toMatch(/try again/i);
    for (const [key, text] of Object.entries({ ...zhCN })) if (/^failure\..*\.hint$/.test(key)) expect(text).not.toMatch(/再试|重试/);
  });

  it("say why there is no answer", () => {
    const text = (reason: string, agents?: string[], code?: string) =>
      notAnsweredText(
        { reason, agents, code },
        (id) => (id === "1" ? "Nova" : ""),
        (n) => n.join("+"),
      );
    expect(text("stopped", ["1"])).toBe("Not answered by Nova: stopped");
    expect(text("expired")).toBe("Not answered in time");
    expect(text("expired", ["1"], "unanswered")).toBe("Read by Nova, but not answered");
    expect(text("expired", ["1"], "model_error")).toBe("Not answered by Nova: the attempt failed");
    expect(text("strange", ["1"])).toBe("Not answered");
  });
});
