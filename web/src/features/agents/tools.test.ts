import { describe, expect, it } from "vitest";
import type { AgentTool } from "#/api/tools";
import { byCategory, categoryKey } from "./tools";

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
});
