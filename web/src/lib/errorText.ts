/** What to tell a person about a failed call: what happened and what to do. Words come from our catalogue; the server's own sentence is used only where it knows more. */
import { ApiError, isApiError } from "#/api/errors";
import { isKey, t } from "#/i18n";

export interface ErrorWords {
  title: string;
  hint: string;
  requestId?: string | undefined;
  /** The same call may work later without a change. */
  retryable: boolean;
}

/** `area` looks for words of a feature first: `auth.error.<code>`. */
export function errorWords(err: unknown, area?: string): ErrorWords {
  const e = isApiError(err) ? err : new ApiError({ kind: "server", code: "client_error" });
  const requestId = e.status > 0 ? e.requestId : undefined;
  const retryable = e.retryable;
  const own = area ? `${area}.error.${e.code}` : "";
  if (e.code && isKey(own)) return { title: t(own), hint: e.kind === "invalid" ? "" : hintOf(e), requestId, retryable };
  const title = `problem.${e.kind}`;
  const words = isKey(title) ? t(title) : t("problem.server");
  // 4xx sentences are written for people by our server; others are not shown.
  const says =
    e.message && e.message !== e.code && e.message !== e.kind && (e.kind === "invalid" || e.kind === "conflict" || e.kind === "forbidden")
      ? e.message
      : "";
  return { title: says || words, hint: says ? "" : hintOf(e), requestId, retryable };
}

function hintOf(e: ApiError): string {
  const key = `problem.${e.kind}Hint`;
  return isKey(key) ? t(key) : "";
}

/** The words for one field, or undefined when the error is not about it. */
export function fieldError(err: unknown, field: string, area: string): string | undefined {
  if (!isApiError(err)) return undefined;
  const issue = err.field(field);
  if (!issue) return undefined;
  for (const key of [`${area}.error.${field}.${issue.code}`, `${area}.error.${issue.code}`]) if (issue.code && isKey(key)) return t(key);
  return issue.message || t("problem.invalid");
}
