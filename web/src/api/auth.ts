/** Sign-in, sign-up, signing out, sessions, password (contract 2.1; sessions, password and one-time links are ours). */
import { api } from "./client";
import type { AuthSession } from "./session";
import type { Self, Session } from "./types";

interface AuthAnswer {
  token: string;
  participant: Self;
}

export interface SignupInput {
  email: string;
  password: string;
  firstName: string;
  lastName?: string;
  inviteCode?: string;
  acceptedTerms: true;
  /** YYYY-MM-DD */
  birthDate: string;
  marketingOptIn: boolean;
  analyticsOptIn: boolean;
  /** IANA name of the device's zone. */
  timezone?: string;
}

export type SignupResult = { kind: "signed_in"; session: AuthSession } | { kind: "confirmation_required"; message?: string | undefined };

export async function login(email: string, password: string): Promise<AuthSession> {
  return toSession(await api.post<AuthAnswer>("/api/auth/login", { email, password }, { open: true }));
}

export async function signup(input: SignupInput): Promise<SignupResult> {
  const answer = await api.post<AuthAnswer | { status: string; message?: string }>("/api/auth/signup", input, { open: true });
  // The presence of `status` selects the "check your mail" path (2.1).
  if ("status" in answer) return { kind: "confirmation_required", message: answer.message };
  return { kind: "signed_in", session: toSession(answer) };
}

export function signupPolicy(signal?: AbortSignal | undefined): Promise<{ inviteRequired: boolean }> {
  return api.get("/api/auth/signup-policy", { open: true, signal });
}

/** Exchanges the code of a one-time link (`/login#token=…`). */
export async function exchangeOneTimeCode(code: string): Promise<AuthSession> {
  return toSession(await api.post<AuthAnswer>("/api/auth/one-time", { code }, { open: true }));
}

/** Revokes the token on the server. The caller ends the local session whatever comes back. */
export function logout(): Promise<void> {
  return api.post("/api/auth/logout", undefined, { timeoutMs: 4000 });
}

export async function listSessions(signal?: AbortSignal | undefined): Promise<Session[]> {
  return (await api.get<{ sessions: Session[] }>("/api/me/sessions", { signal })).sessions;
}

export function revokeSession(id: string): Promise<void> {
  return api.delete(`/api/me/sessions/${encodeURIComponent(id)}`);
}

export function changePassword(currentPassword: string, newPassword: string): Promise<void> {
  return api.put("/api/me/password", { currentPassword, newPassword });
}

function toSession(answer: AuthAnswer): AuthSession {
  return { token: answer.token, self: answer.participant };
}
