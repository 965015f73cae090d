/** Words for rows that the server writes: chosen by code from the catalogue (decision 24), the stored English when the code is not known. Pure. */
import type { Message } from "#/api/types";
import { isKey, type Key, type Params, t } from "#/i18n";

function codeOf(message: Message): string {
  const meta = message.metadata ?? {};
  const code = meta.code ?? meta["error_code"] ?? meta.errorKind;
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
  return message.readableText || message.content;
}

export interface Failure {
  title: string;
  hint: string | null;
  /** What the other side said, word for word. */
  detail: string | null;
}

const withHints = [
  "auth_failure",
  "rate_limited",
  "empty_response",
  "killed",
  "timeout",
  "backend_missing",
  "model_error",
  "handler_exception",
] as const;

/** Title and advice for a turn that failed. */
export function failureText(message: Message, name: string): Failure {
  const code = withHints.find((c) => c === codeOf(message));
  const detail = message.content.trim() || null;
  if (!code) return { title: t("failure.title", { name }), hint: null, detail };
  return { title: t(`failure.${code}` satisfies Key, { name }), hint: t(`failure.${code}.hint` satisfies Key), detail };
}

/** Why a message has no answer, from `metadata.not_answered`. */
export function notAnsweredText(
  info: { reason: string; agents?: string[] | undefined },
  nameOf: (idOrName: string) => string,
  list: (names: string[]) => string,
): string {
  const stem = `message.notAnswered.${info.reason}`;
  const names = (info.agents ?? []).map(nameOf).filter(Boolean);
  const named = `${stem}Names`;
  if (names.length > 0 && isKey(named)) return t(named, { names: list(names) });
  return isKey(stem) ? t(stem) : t("message.notAnswered.other");
}
