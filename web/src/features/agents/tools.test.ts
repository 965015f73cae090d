import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { AgentTool } from "#/api/tools";
import { isKey } from "#/i18n";
import { byCategory, categoryKey, toolWords } from "./tools";

const tool = (name: string, category: string): AgentTool => ({
  id: name,
  name,
  category,
  scope: "global",
  displayName: name,
  description: "",
  risk: "low",
  essential: false,
});

describe("tools of an agent", () => {
  it("keeps the order of the catalogue within and between categories", () => {
    const groups = byCategory([tool("send_message", "messaging"), tool("web_fetch", "web"), tool("get_messages", "messaging")]);
    expect(groups.map(([category, list]) => [category, list.map((x) => x.name)])).toEqual([
      ["messaging", ["send_message", "get_messages"]],
      ["web", ["web_fetch"]],
    ]);
    expect(byCategory([])).toEqual([]);
  });

  it("names known categories only", () => {
    expect(categoryKey("web")).toBe("tools.category.web");
    expect(categoryKey("astrology")).toBeUndefined();
  });

  it("has words for people for every tool of the server, in both languages", () => {
    const dir = "../internal/flow";
    const source = readdirSync(dir)
      .filter((f) => /^tool_.*\.go$/.test(f) && !f.endsWith("_test.go"))
      .map((f) => readFileSync(`${dir}/${f}`, "utf8"))
      .join("\n");
    const names = [...source.matchAll(/Name: "([a-z_-]+)",(?: ExecutorMethod: "[a-z_]+",)? Category:/g)].map((m) => m[1] ?? "");
    expect(names.length).toBeGreaterThan(40);
    expect(names.filter((n) => !isKey(`tool.${n}`) || !isKey(`tool.${n}.hint`))).toEqual([]);
    expect(toolWords({ name: "brand_new", displayName: "Brand new", description: "As told." })).toEqual({ name: "Brand new", hint: "As told." });
  });
});
