import type { AgentTool } from "#/api/tools";
import type { Key } from "#/i18n";

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
