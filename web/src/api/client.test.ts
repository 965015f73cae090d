import { describe, expect, it, vi } from "vitest";
import { createClient, randomId } from "./client";
import { ApiError } from "./errors";
import { SessionStore } from "./session";
import type { Self } from "./types";

type Answer = { status: number; body?: unknown; text?: string; headers?: Record<string, string> } | Error;

function setup(...answers: Answer[]) {
  const session = new SessionStore(localStorage);
  session.start({ token: "tok", self: { id: "me", type: "human", displayName: "Ada" } as Self });
  const calls: { url: string; init: RequestInit }[] = [];
  const slept: number[] = [];
  const client = createClient({
    base: "http://x",
    session,
    newId: () => "req-1",
    sleep: async (ms) => void slept.push(ms),
    fetch: (async (url: string, init: RequestInit) => {
      calls.push({ url, init });
      const a = answers[Math.min(calls.length - 1, answers.length - 1)];
      if (a instanceof Error || !a) throw a ?? new Error("no answer");
      const text = a.text ?? (a.body === undefined ? "" : JSON.stringify(a.body));
      return new Response(a.status === 204 ? null : text, { status: a.status, headers: a.headers ?? {} });
    }) as typeof fetch,
  });
  return { client, calls, slept, session };
}

const failure = async (p: Promise<unknown>): Promise<ApiError> => {
  const err = await p.then(
    () => null,
    (e: unknown) => e,
  );
  expect(err).toBeInstanceOf(ApiError);
  return err as ApiError;
};

describe("client", () => {
  it("sends the token, JSON and a request id, and drops undefined keys but keeps null", async () => {
    const { client, calls } = setup({ status: 200, body: { ok: true } });
    await client.patch("/api/a", { keep: null, gone: undefined }, { query: { limit: 3, before: undefined } });
    expect(calls[0]?.url).toBe("http://x/api/a?limit=3");
    expect(calls[0]?.init.body).toBe('{"keep":null}');
    expect(calls[0]?.init.headers).toMatchObject({ Authorization: "Bearer tok", "Content-Type": "application/json", "X-Request-Id": "req-1" });
  });

  it("reads both error forms, field problems and the request id", async () => {
    const one = await failure(
      setup({
        status: 422,
        body: { error: { code: "invalid", message: "No", details: [{ field: "email", code: "taken", message: "Taken" }] } },
        headers: { "X-Request-Id": "srv-9" },
      }).client.get("/api/a"),
    );
    expect(one).toMatchObject({ kind: "invalid", code: "invalid", message: "No", requestId: "srv-9", status: 422 });
    expect(one.field("email")?.message).toBe("Taken");
    const two = await failure(setup({ status: 404, body: { error: "external_agents_disabled" } }).client.get("/api/a"));
    expect(two).toMatchObject({ kind: "not_found", code: "external_agents_disabled" });
    const three = await failure(setup({ status: 409, body: { stale: true } }).client.post("/api/a"));
    expect(three).toMatchObject({ kind: "conflict", body: { stale: true } });
  });

  it("ends the session on 401, but not for a sign-in and not for a session that began meanwhile", async () => {
    const a = setup({ status: 401, body: {} });
    await failure(a.client.get("/api/a"));
    expect(a.session.get()).toBeNull();
    const b = setup({ status: 401, body: {} });
    expect((await failure(b.client.post("/api/auth/login", {}, { open: true }))).kind).toBe("forbidden");
    expect(b.session.get()).not.toBeNull();
    const c = setup({ status: 401, body: {} });
    const call = failure(c.client.get("/api/a"));
    c.session.start({ token: "newer", self: { id: "me", type: "human", displayName: "Ada" } as Self });
    await call;
    expect(c.session.token()).toBe("newer");
  });

  it("repeats 429 three times, honours Retry-After, and gives up on a long one", async () => {
    const a = setup({ status: 429, headers: { "Retry-After": "3" } }, { status: 429 }, { status: 429 }, { status: 200, body: 1 });
    expect(await a.client.post("/api/a")).toBe(1);
    expect(a.slept).toEqual([3000, 2000, 4000]);
    const b = setup({ status: 429 });
    expect((await failure(b.client.get("/api/a"))).kind).toBe("rate_limited");
    expect(b.calls).toHaveLength(4);
    const c = setup({ status: 429, headers: { "Retry-After": "600" } });
    expect((await failure(c.client.get("/api/a"))).retryAfterMs).toBe(600_000);
    expect(c.calls).toHaveLength(1);
  });

  it("tells offline, timeout and abort apart", async () => {
    expect((await failure(setup(new TypeError("failed")).client.get("/api/a"))).kind).toBe("offline");
    const hang = createClient({
      base: "",
      session: { token: () => null, end: () => undefined },
      newId: () => "r",
      sleep: async () => undefined,
      fetch: (_u, init) => new Promise((_res, rej) => init?.signal?.addEventListener("abort", () => rej(new DOMException("x", "AbortError")))),
    });
    expect((await failure(hang.get("/api/a", { timeoutMs: 5 }))).kind).toBe("timeout");
    const stop = new AbortController();
    const p = failure(hang.get("/api/a", { signal: stop.signal }));
    stop.abort();
    expect((await p).kind).toBe("aborted");
  });

  it("reads 204 and an empty 200 as done and refuses a page that is not JSON", async () => {
    expect(await setup({ status: 204 }).client.delete("/api/a")).toBeUndefined();
    expect(await setup({ status: 200 }).client.post("/api/a")).toBeUndefined();
    expect((await failure(setup({ status: 200, text: "<html>" }).client.get("/api/a"))).code).toBe("bad_answer");
  });
});

describe("session", () => {
  it("survives a reload and is told to everybody", () => {
    const a = new SessionStore(localStorage);
    const heard = vi.fn();
    a.subscribe(heard);
    a.start({ token: "t", self: { id: "me", type: "human", displayName: "Ada" } as Self });
    expect(new SessionStore(localStorage).token()).toBe("t");
    a.update({ id: "other", type: "human", displayName: "Eve" } as Self);
    expect(a.get()?.self.displayName).toBe("Ada");
    a.end("signed_out");
    expect(heard).toHaveBeenLastCalledWith(null, "signed_out");
    expect(new SessionStore(localStorage).get()).toBeNull();
  });

  it("makes ids without a secure context", () => {
    const original = crypto.randomUUID;
    Object.defineProperty(crypto, "randomUUID", { value: undefined, configurable: true });
    expect(randomId()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    Object.defineProperty(crypto, "randomUUID", { value: original, configurable: true });
  });
});
