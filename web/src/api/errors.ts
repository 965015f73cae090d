/** Every failed call ends as an `ApiError`: one shape for screens, whatever went wrong. */

export type ApiErrorKind =
  /** The request never reached an answer: no network, server down, CORS. */
  | "offline"
  | "timeout"
  | "aborted"
  /** The session ended (401). The app is being signed out; screens show nothing. */
  | "expired"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "invalid"
  | "rate_limited"
  | "unavailable"
  | "server";

export interface FieldIssue {
  field: string;
  message: string;
  code?: string | undefined;
}

export interface ApiErrorInit {
  kind: ApiErrorKind;
  status?: number;
  code?: string;
  message?: string;
  requestId?: string;
  fields?: FieldIssue[];
  body?: unknown;
  retryAfterMs?: number | undefined;
}

export class ApiError extends Error {
  readonly kind: ApiErrorKind;
  /** HTTP status, 0 when there was none. */
  readonly status: number;
  /** Stable snake_case code of the server, or `""`. */
  readonly code: string;
  /** To be shown with a copy button, so that an operator can find the line in the log. */
  readonly requestId: string;
  /** Problems of single form fields, by their wire names. */
  readonly fields: readonly FieldIssue[];
  /** The whole parsed body, for the few calls that read more than the error (409 stale). */
  readonly body: unknown;
  readonly retryAfterMs: number | undefined;

  constructor(init: ApiErrorInit) {
    super(init.message || init.code || init.kind);
    this.name = "ApiError";
    this.kind = init.kind;
    this.status = init.status ?? 0;
    this.code = init.code ?? "";
    this.requestId = init.requestId ?? "";
    this.fields = init.fields ?? [];
    this.body = init.body;
    this.retryAfterMs = init.retryAfterMs;
  }

  /** True when the same call may succeed later without a change by the person. */
  get retryable(): boolean {
    return (
      this.kind === "offline" || this.kind === "timeout" || this.kind === "rate_limited" || this.kind === "unavailable" || this.kind === "server"
    );
  }

  field(name: string): FieldIssue | undefined {
    return this.fields.find((f) => f.field === name);
  }
}

export function isApiError(err: unknown): err is ApiError {
  return err instanceof ApiError;
}

export function kindOfStatus(status: number): ApiErrorKind {
  if (status === 401) return "expired";
  if (status === 403) return "forbidden";
  if (status === 404 || status === 410) return "not_found";
  if (status === 409) return "conflict";
  if (status === 429) return "rate_limited";
  if (status === 408 || status === 504) return "timeout";
  if (status === 502 || status === 503) return "unavailable";
  if (status >= 500) return "server";
  return "invalid";
}

/** Reads both error forms of the contract (1.2): `{error:{code,message,details?}}` and `{error:"text"}`; anything else leaves the text empty. */
export function readErrorBody(body: unknown): { code: string; message: string; fields: FieldIssue[] } {
  const out = { code: "", message: "", fields: [] as FieldIssue[] };
  if (!body || typeof body !== "object") return out;
  const err = (body as { error?: unknown }).error;
  if (typeof err === "string") {
    // A bare word such as "external_agents_disabled" is a code, a sentence is a message.
    if (/^[a-z0-9_]+$/.test(err)) out.code = err;
    out.message = err;
    return out;
  }
  if (!err || typeof err !== "object") return out;
  const e = err as { code?: unknown; message?: unknown; details?: unknown };
  if (typeof e.code === "string") out.code = e.code;
  if (typeof e.message === "string") out.message = e.message;
  out.fields = readDetails(e.details);
  return out;
}

function readDetails(details: unknown): FieldIssue[] {
  if (Array.isArray(details)) {
    return details.flatMap((d) => {
      if (!d || typeof d !== "object") return [];
      const o = d as Record<string, unknown>;
      const field = o.field ?? o.name ?? o.path;
      if (typeof field !== "string") return [];
      const code = typeof o.code === "string" ? o.code : undefined;
      return [{ field, message: typeof o.message === "string" ? o.message : (code ?? ""), code }];
    });
  }
  if (details && typeof details === "object") {
    return Object.entries(details).map(([field, v]) => ({ field, message: Array.isArray(v) ? String(v[0] ?? "") : String(v) }));
  }
  return [];
}
