import { afterEach, describe, expect, it } from "vitest";
import { en } from "./en";
import { setLocale, t } from "./index";
import { zhCN } from "./zh-CN";

const placeholders = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map((m) => m[1]).sort();

describe("catalogue", () => {
  afterEach(() => setLocale("en"));

  it("has the same keys in both languages", () => {
    expect(Object.keys(zhCN).sort()).toEqual(Object.keys(en).sort());
  });

  it("has no empty text and the same placeholders in both languages", () => {
    for (const key of Object.keys(en) as (keyof typeof en)[]) {
      expect(en[key].trim(), key).not.toBe("");
      expect(zhCN[key].trim(), key).not.toBe("");
      // Chinese has one plural form, which may leave the count of "one" out or in.
      if (!key.endsWith("_one")) expect(placeholders(zhCN[key]), key).toEqual(placeholders(en[key]));
    }
  });

  it("does not raise its voice", () => {
    for (const text of [...Object.values(en), ...Object.values(zhCN)]) expect(text).not.toMatch(/[!！]/);
  });

  it("fills placeholders and keeps unknown ones visible", () => {
    expect(t("error.requestId", { id: "r-1" })).toBe("Request r-1");
    expect(t("error.requestId")).toBe("Request {id}");
  });

  it("switches language", () => {
    setLocale("zh-CN");
    expect(t("common.retry")).toBe("重试");
    expect(document.documentElement.lang).toBe("zh-CN");
  });
});
