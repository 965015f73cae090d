/** Whether and how an event calls somebody who is elsewhere (contract desktop.md 3.8). Pure. */
import type { Id, Message, PermissionRequest } from "#/api/types";
import { isKey, type Params, t } from "#/i18n";

export interface Call {
  title: string;
  body: string;
  conversationId: Id;
  /** Where the call is about a task, it leads there. */
  taskId?: Id;
}

const BODY_MAX = 100;
const TITLE_MAX = 60;

export interface Situation {
  selfId: Id;
  /** The page is in front and has the keyboard. */
  attentive: boolean;
  /** What the person switched off; null when not known: then nothing calls. */
  preferences: Readonly<Record<string, boolean>> | null;
}

/** The call for a `conversation_updated`, or null. Reminders have calls of their own. */
export function callFor(payload: Record<string, unknown>, s: Situation): Call | null {
  const message = payload["lastMessage"] as Message | undefined;
  const conversationId = payload["conversationId"];
  const category = payload["notificationCategory"] ?? message?.notificationCategory;
  if (s.attentive || !s.preferences || !message?.senderId || message.senderId === s.selfId) return null;
  if (typeof conversationId !== "string" || typeof category !== "string" || category === "" || category === "reminders") return null;
  if (s.preferences[category] === false) return null;
  const text = (message.readableText ?? message.content).replace(/\s+/g, " ").trim();
  if (!text) return null;
  const body = [...text].length > BODY_MAX ? `${[...text].slice(0, BODY_MAX - 1).join("")}…` : text;
  const task = category.startsWith("task_") ? (message.metadata?.["task_id"] ?? message.metadata?.["task_report"]) : undefined;
  return { title: message.sender?.displayName ?? "", body, conversationId, ...(typeof task === "string" ? { taskId: task } : {}) };
}

/** The call for a `permission_request`: told like a mention. What would run is not in it: a notice may be seen by others. */
export function callForRequest(payload: Record<string, unknown>, s: Situation): Omit<Call, "conversationId"> | null {
  const request = payload as unknown as PermissionRequest;
  const category = payload["notificationCategory"];
  if (s.attentive || !s.preferences || typeof category !== "string" || s.preferences[category] === false || request.status !== "pending") return null;
  return { title: t("decisions.notify", { name: request.agentName ?? "" }), body: t("decisions.notifyTool", { tool: request.toolName }) };
}

/** The words of a `notice` to the one who wrote: by its code, or the server's own sentence. */
export function writerNotice(payload: Record<string, unknown>): string {
  const key = `notice.${String(payload["code"])}`;
  const params: Params = {};
  const given = payload["params"];
  if (given && typeof given === "object") {
    for (const [k, v] of Object.entries(given)) params[k] = Array.isArray(v) ? v.join(", ") : typeof v === "number" ? v : String(v);
  }
  const text = isKey(key) ? t(key, params) : "";
  return text && !/\{\w+\}/.test(text) ? text : String(payload["text"] ?? "");
}

/** What an `agent_busy_redirect` says: who works at what, and where that is. null where it is not whole, or the person is there. */
export function busyNotice(payload: Record<string, unknown>, at: string): { title: string; detail: string; room: Id } | null {
  const { agentName, taskTitle, workConversationId: room } = payload;
  if (typeof agentName !== "string" || typeof taskTitle !== "string" || typeof room !== "string" || room === "") return null;
  if (at.split("/").includes(room)) return null;
  const short = [...taskTitle].length > TITLE_MAX ? `${[...taskTitle].slice(0, TITLE_MAX - 1).join("")}…` : taskTitle;
  return { title: t("notify.busy", { name: agentName, task: short }), detail: t("notify.busyHint"), room };
}
