/** Words for rows that the server writes: chosen by code from the catalogue (decision 24), the stored English when the code is not known. Pure. */
import type { Message } from "#/api/types";
import { isKey, type Key, type Params, t } from "#/i18n";
import { sessionLine } from "./terminal";

const notices = new Set(["Notice", "notice", "System", "system", "StatusUpdate", "status_update"]);

export function typeOf(message: Message): string {
  return message.messageType || message.contentType || "text";
}

/** A turn that failed, told by its agent. */
export function isError(message: Message): boolean {
  return message.messageType === "ErrorReport" || message.metadata?.errorKind !== undefined;
}

/** One line of the server's. */
export function isNotice(message: Message): boolean {
  return message.senderId === null || notices.has(typeOf(message)) || message.metadata?.["notice"] === true;
}

function codeOf(message: Message): string {
  const code = message.metadata?.code;
  return typeof code === "string" ? code : "";
}

/** Every scalar in the metadata, and in its `params`, may fill a placeholder. */
function paramsOf(message: Message): Params {
  const out: Params = {};
  const meta = message.metadata ?? {};
  const nested = meta["params"];
  for (const source of [meta, nested && typeof nested === "object" ? (nested as Record<string, unknown>) : {}]) {
    for (const [key, value] of Object.entries(source)) if (typeof value === "string" || typeof value === "number") out[key] = value;
  }
  const name = out["name"] ?? out["agent_name"] ?? out["participant_name"] ?? message.sender?.displayName;
  if (name !== undefined) out["name"] = name;
  return out;
}

/** One line for a notice or system row. */
export function noticeText(message: Message): string {
  const key = `notice.${codeOf(message)}`;
  if (isKey(key)) {
    const text = t(key, paramsOf(message));
    // A placeholder without a value would show its braces: then the stored sentence says it better.
    if (!/\{\w+\}/.test(text)) return text;
  }
  return sessionLine(message) || message.readableText || message.content;
}

export interface Failure {
  title: string;
  hint: string | null;
  /** What the other side said, word for word. */
  detail: string | null;
}

const failures = [
  "auth_failure",
  "rate_limited",
  "empty_response",
  "killed",
  "timeout",
  "backend_missing",
  "model_error",
  "handler_exception",
] as const;

// Other bridges have words of their own for the same failures.
const aliases: Record<string, (typeof failures)[number]> = { turn_timeout: "timeout", rate_limit: "rate_limited" };

/** Title and advice for a turn that failed. */
export function failureText(message: Message, name: string): Failure {
  const meta = message.metadata ?? {};
  const words = [meta["error_code"], meta.code, meta.errorKind].filter((w): w is string => typeof w === "string");
  const code = words.map((w) => aliases[w] ?? w).find((w): w is (typeof failures)[number] => (failures as readonly string[]).includes(w));
  const told = meta["detail"];
  if (!code) return { title: t("failure.title", { name }), hint: null, detail: (typeof told === "string" && told) || message.content.trim() || null };
  return {
    title: t(`failure.${code}` satisfies Key, { name }),
    hint: t(`failure.${code}.hint` satisfies Key),
    // The sentence in the message says in English what the title says: only what the model itself said adds to it.
    detail: (typeof told === "string" && told) || null,
  };
}

export interface Missed {
  reason: string;
  /** How the turn ended, finer than the reason: an outcome, or the code of its failure. */
  code?: unknown;
  agents?: string[] | undefined;
}

/** Why a message has no answer, from `metadata.not_answered`. */
export function notAnsweredText(info: Missed, nameOf: (idOrName: string) => string, list: (names: string[]) => string): string {
  const names = (info.agents ?? []).map(nameOf).filter(Boolean);
  const stem = `message.notAnswered.${missedWord(info)}`;
  const named = `${stem}Names`;
  if (names.length > 0 && isKey(named)) return t(named, { names: list(names) });
  return isKey(stem) ? t(stem) : t("message.notAnswered.other");
}

function missedWord({ reason, code }: Missed): string {
  if (reason !== "expired" || typeof code !== "string" || code === "expired") return reason;
  return code === "unanswered" ? "unanswered" : "failed";
}
