/** Words of tasks that more than their own pages need. Pure, but for the language. */
import type { Message } from "#/api/types";
import { isKey, t } from "#/i18n";

/** Done with nothing to show is not done, and lost is not failed. */
export function stateWords(status: string, endKind?: string | null): string {
  const end = `tasks.end.${endKind ?? ""}`;
  if (isKey(end)) return t(end);
  const key = `tasks.status.${status}`;
  return isKey(key) ? t(key) : status;
}

/** One line for a row of a task's card: its title, how it stood then, and what it said; "" for other rows. */
export function taskLine(message: Message): string {
  if (message.messageType !== "StatusUpdate" || typeof message.metadata?.["task_id"] !== "string") return "";
  let body: Record<string, unknown> = {};
  try {
    const parsed: unknown = JSON.parse(message.content);
    if (parsed && typeof parsed === "object") body = parsed as Record<string, unknown>;
  } catch {
    // Its metadata says enough.
  }
  const word = (v: unknown) => (typeof v === "string" ? v : "");
  const title = word(message.metadata["task_title"]) || word(body["title"]);
  const asked = word(body["ask_id"]) ? word(body["summary"]) : "";
  const state = stateWords(word(message.metadata["task_status"]) || word(body["status"]), word(body["end_kind"]));
  return [title, asked || state].filter(Boolean).join(": ");
}
