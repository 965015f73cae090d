/**
 * One way to call the server: bearer token, JSON both ways, one error shape, repeated politely when it says 429.
 *
 * What it owns: headers, time limits, retries, reading errors, ending the session on 401. What it does not: caching (TanStack Query) and
 * what a call means (the feature files beside it).
 */
import { ApiError, kindOfStatus, readErrorBody } from "./errors";
import { session as defaultSession, type SessionStore } from "./session";

export interface CallOptions {
  method?: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  /** Encoded as JSON. Keys with the value undefined are dropped, null is sent: "leave" and "clear" differ on the wire (contract 1.1). */
  body?: unknown;
  query?: Record<string, string | number | boolean | null | undefined>;
  signal?: AbortSignal | undefined;
  /** Milliseconds for one attempt, 20,000 by default. */
  timeoutMs?: number | undefined;
  /** No token is sent and a 401 ends nothing: sign-in and sign-up. */
  open?: boolean | undefined;
  /** The same key makes the same POST have one effect, however often it is sent. */
  idempotencyKey?: string | undefined;
}

export interface ClientDeps {
  base: string;
  fetch: typeof fetch;
  session: Pick<SessionStore, "token" | "end">;
  sleep: (ms: number, signal?: AbortSignal | undefined) => Promise<void>;
  newId: () => string;
}

const RETRY_DELAYS_MS = [1000, 2000, 4000] as const;
/** A longer Retry-After is not waited for: the person is told instead. */
const MAX_RETRY_AFTER_MS = 15_000;
const DEFAULT_TIMEOUT_MS = 20_000;

export interface Client {
  call<T>(path: string, options?: CallOptions): Promise<T>;
  get<T>(path: string, options?: CallOptions): Promise<T>;
  post<T>(path: string, body?: unknown, options?: CallOptions): Promise<T>;
  patch<T>(path: string, body?: unknown, options?: CallOptions): Promise<T>;
  put<T>(path: string, body?: unknown, options?: CallOptions): Promise<T>;
  delete<T>(path: string, body?: unknown, options?: CallOptions): Promise<T>;
}

export function createClient(deps: ClientDeps): Client {
  async function call<T>(path: string, options: CallOptions = {}): Promise<T> {
    const url = deps.base + path + queryString(options.query);
    for (let attempt = 0; ; attempt++) {
      try {
        return await once<T>(url, options);
      } catch (err) {
        const wait = retryDelay(err, attempt);
        if (wait === null) throw err;
        await deps.sleep(wait, options.signal);
      }
    }
  }

  async function once<T>(url: string, options: CallOptions): Promise<T> {
    const token = options.open ? null : deps.session.token();
    const requestId = deps.newId();
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), options.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    const abort = () => timeout.abort();
    options.signal?.addEventListener("abort", abort, { once: true });
    if (options.signal?.aborted) abort();
    try {
      const headers: Record<string, string> = { "Content-Type": "application/json", Accept: "application/json", "X-Request-Id": requestId };
      if (token) headers.Authorization = `Bearer ${token}`;
      if (options.idempotencyKey) headers["Idempotency-Key"] = options.idempotencyKey;
      const res = await deps.fetch(url, {
        method: options.method ?? "GET",
        headers,
        body: options.body === undefined ? null : JSON.stringify(options.body),
        signal: timeout.signal,
        credentials: "omit",
        cache: "no-store",
      });
      return await readAnswer<T>(res, requestId, token);
    } catch (err) {
      if (err instanceof ApiError) throw err;
      if (options.signal?.aborted) throw new ApiError({ kind: "aborted", requestId });
      if (timeout.signal.aborted) throw new ApiError({ kind: "timeout", requestId });
      throw new ApiError({ kind: "offline", requestId });
    } finally {
      clearTimeout(timer);
      options.signal?.removeEventListener("abort", abort);
    }
  }

  async function readAnswer<T>(res: Response, sentId: string, token: string | null): Promise<T> {
    const requestId = res.headers.get("X-Request-Id") || sentId;
    if (res.status === 204 || res.status === 205) return undefined as T;
    const text = await res.text();
    const parsed = parseJson(text);
    if (res.ok) {
      if (parsed.ok) return parsed.value as T;
      // A proxy's page or a cut answer: not what was asked for, whatever the status says.
      throw new ApiError({ kind: "server", status: res.status, requestId, code: "bad_answer" });
    }
    const kind = kindOfStatus(res.status);
    const read = readErrorBody(parsed.value);
    if (res.status === 401 && token) deps.session.end("expired", token);
    throw new ApiError({
      kind: res.status === 401 && !token ? "forbidden" : kind,
      status: res.status,
      requestId,
      ...read,
      body: parsed.value,
      retryAfterMs: retryAfter(res.headers.get("Retry-After")),
    });
  }

  return {
    call,
    get: (path, o) => call(path, { ...o, method: "GET" }),
    post: (path, body, o) => call(path, { ...o, method: "POST", body }),
    patch: (path, body, o) => call(path, { ...o, method: "PATCH", body }),
    put: (path, body, o) => call(path, { ...o, method: "PUT", body }),
    delete: (path, body, o) => call(path, { ...o, method: "DELETE", body }),
  };
}

function retryDelay(err: unknown, attempt: number): number | null {
  if (!(err instanceof ApiError) || err.status !== 429) return null;
  const step = RETRY_DELAYS_MS[attempt];
  if (step === undefined) return null;
  const asked = err.retryAfterMs ?? 0;
  return asked > MAX_RETRY_AFTER_MS ? null : Math.max(step, asked);
}

/** Seconds or an HTTP date, in milliseconds from now. */
function retryAfter(value: string | null): number | undefined {
  if (!value) return undefined;
  const seconds = Number(value);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1000);
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}

function parseJson(text: string): { ok: boolean; value?: unknown } {
  // An empty 200 breaks older clients; ours reads it as "done".
  if (text === "") return { ok: true };
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch {
    return { ok: false };
  }
}

function queryString(query: CallOptions["query"]): string {
  if (!query) return "";
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query)) if (v !== undefined && v !== null) q.set(k, String(v));
  const s = q.toString();
  return s ? `?${s}` : "";
}

function sleep(ms: number, signal?: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = () => {
      signal?.removeEventListener("abort", stop);
      resolve();
    };
    const timer = setTimeout(done, ms);
    const stop = () => {
      clearTimeout(timer);
      reject(new ApiError({ kind: "aborted" }));
    };
    if (signal?.aborted) stop();
    else signal?.addEventListener("abort", stop, { once: true });
  });
}

/** A random id that also works on plain http addresses other than localhost, where `crypto.randomUUID` is missing. */
export function randomId(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const b = crypto.getRandomValues(new Uint8Array(16));
  b[6] = ((b[6] ?? 0) & 0x0f) | 0x40;
  b[8] = ((b[8] ?? 0) & 0x3f) | 0x80;
  const hex = [...b].map((x) => x.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The client of the app: same origin, the session of this browser. */
export const api: Client = createClient({
  base: "",
  fetch: (...args) => globalThis.fetch(...args),
  session: defaultSession,
  sleep,
  newId: randomId,
});

/** The address a bridge must be given, as this browser reaches the server. */
export function serverOrigin(): string {
  return window.location.origin;
}
