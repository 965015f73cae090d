import { describe, expect, it } from "vitest";
import { setLocale, t } from "#/i18n";
import { type ActivityRow, canStop, isMoving, rowText, summary } from "./summary";

const row = (extra: Partial<ActivityRow>): ActivityRow => ({
  participantId: "a",
  name: "Nova",
  kind: "agent",
  source: "stream",
  phase: "thinking",
  startedAt: 0,
  ...extra,
});

describe("the line of the dock", () => {
  it("names the only one, with the step when it is known", () => {
    expect(summary([row({})])).toBe("Nova is thinking");
    expect(summary([row({ phase: "tool_call", detail: "Reading main.go" })])).toBe("Nova: Reading main.go");
    expect(summary([row({ phase: "writing", detail: "Reading main.go" })])).toBe("Nova is writing");
    expect(rowText(row({ phase: "something_new" }))).toBe("Nova is working");
  });
  it("counts when there are more", () => {
    expect(summary([row({}), row({ participantId: "b" }), row({ kind: "human", source: "typing" })])).toBe("2 agents at work · 1 person typing");
    expect(summary([row({ done: true }), row({ done: true })])).toBe("done");
    expect(summary([])).toBe("");
  });
  it("has words of its own for a phase that stands alone", () => {
    setLocale("zh-CN");
    expect(t("activity.now.writing")).toBe("书写中");
    expect(t("activity.now.working")).toBe("工作中");
    expect(summary([row({ phase: "writing" })])).toBe("Nova 正在书写");
    setLocale("en");
  });
  it("moves and stops only what works", () => {
    expect(isMoving(row({ phase: "queued" }))).toBe(false);
    expect(isMoving(row({ done: true }))).toBe(false);
    expect(canStop(row({ phase: "queued" }))).toBe(true);
    expect(canStop(row({ kind: "human", source: "typing" }))).toBe(false);
  });
});
