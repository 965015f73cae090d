import type { AgentTool } from "#/api/tools";
import { isKey, type Key, t } from "#/i18n";

const known: Record<string, Key> = {
  messaging: "tools.category.messaging",
  conversation: "tools.category.conversation",
  identity: "tools.category.identity",
  files: "tools.category.files",
  web: "tools.category.web",
  tasks: "tools.category.tasks",
  integration: "tools.category.integration",
  credentials: "tools.category.credentials",
  memory: "tools.category.memory",
};

/** The word for a category, if it is one that we know. */
export function categoryKey(category: string): Key | undefined {
  return known[category];
}

/** What a tool is called and does, for people; a tool that the catalogue does not know is told as the server tells it. */
export function toolWords(tool: Pick<AgentTool, "name" | "displayName" | "description">): { name: string; hint: string } {
  const [name, hint] = [`tool.${tool.name}`, `tool.${tool.name}.hint`];
  return { name: isKey(name) ? t(name) : tool.displayName || tool.name, hint: isKey(hint) ? t(hint) : tool.description };
}

/** Tools by category, both in the order in which they came. */
export function byCategory(tools: readonly AgentTool[]): [string, AgentTool[]][] {
  const groups = new Map<string, AgentTool[]>();
  for (const tool of tools) {
    const group = groups.get(tool.category);
    if (group) group.push(tool);
    else groups.set(tool.category, [tool]);
  }
  return [...groups];
}
