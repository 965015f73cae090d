/** The line that makes a person's own tool speak as an agent, and what is told of its session. Pure. */
import type { ExternalSession, Message } from "#/api/types";
import { t, tn } from "#/i18n";

export type TerminalTool = "claude" | "codex";

export function connectLine(origin: string, tool: TerminalTool, code: string): string {
  return `agnt connect --session --tool ${tool} --url ${origin} ${code}`;
}

export function toolName(tool: unknown): string {
  return tool === "claude_code" ? "Claude Code" : tool === "codex" ? "Codex" : t("terminal.tool");
}

/** Where a session runs: repository and branch, else the folder, and the machine. */
export function whereText(s: { repo?: unknown; branch?: unknown; cwd?: unknown; hostname?: unknown }): string {
  const word = (v: unknown) => (typeof v === "string" ? v : "");
  const branch = word(s.branch);
  const place = word(s.repo) ? word(s.repo) + (branch ? ` (${branch})` : "") : word(s.cwd);
  return [place, word(s.hostname)].filter(Boolean).join(" · ");
}

/** The state of a session in words; what it waits for when that is known. */
export function stateText(state: unknown, blockedOn?: unknown): string {
  if (state === "waiting" && blockedOn === "permission_prompt") return t("terminal.state.permission");
  switch (state) {
    case "running":
      return t("terminal.state.running");
    case "waiting":
      return t("terminal.state.waiting");
    case "ended":
      return t("terminal.state.ended");
    default:
      return t("terminal.state.unlinked");
  }
}

/** What a session has done so far. */
export function countText(stats: { prompts?: unknown; tool_calls?: unknown } | null | undefined): string {
  return `${tn("terminal.prompts", Number(stats?.prompts ?? 0))}, ${tn("terminal.toolCalls", Number(stats?.tool_calls ?? 0))}`;
}

export function isLive(s: ExternalSession | null | undefined): boolean {
  return s?.state === "running" || s?.state === "waiting";
}

/** Start and end of a session that somebody drives in a terminal (contract 5.3a); "" for other rows. */
export function sessionLine(message: Message): string {
  if (message.messageType !== "StatusUpdate") return "";
  let body: Record<string, unknown>;
  try {
    const parsed: unknown = JSON.parse(message.content);
    if (!parsed || typeof parsed !== "object") return "";
    body = parsed as Record<string, unknown>;
  } catch {
    return "";
  }
  const tool = toolName(body["tool"]);
  const done = { tool, did: countText(body["stats"] as Record<string, unknown> | undefined) };
  const where = whereText(body);
  if (body["type"] === "external_session_started") return where ? t("terminal.startedAt", { tool, where }) : t("terminal.started", { tool });
  if (body["type"] === "external_session_ended") return body["reason"] === "lost" ? t("terminal.lost", done) : t("terminal.ended", done);
  return "";
}
