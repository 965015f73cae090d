/** Signing in and out as screens do it: the session store, the cache and the address in one step. */
import { useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useCallback, useContext, useSyncExternalStore } from "react";
import { logout } from "#/api/auth";
import { type AuthSession, session } from "#/api/session";
import { getLocale, setLocale } from "#/i18n";
import { HubContext } from "#/realtime/context";
import { unsentCount } from "#/realtime/outbox";

export function useSession(): AuthSession | null {
  return useSyncExternalStore(session.subscribe, session.get, session.get);
}

/** Only paths of our own are followed after signing in. */
export function safeNext(next: unknown): string {
  return typeof next === "string" && /^\/(?![/\\])/.test(next) && !next.startsWith("/login") && !next.startsWith("/signup") ? next : "/";
}

/** Begins a session and goes where the person wanted to go. */
export function useBegin(next: string): (s: AuthSession) => void {
  const queries = useQueryClient();
  const navigate = useNavigate();
  return useCallback(
    (s) => {
      // Nothing of whoever was here before.
      queries.clear();
      applyLocale(s.self.locale);
      session.start(s);
      void navigate({ href: safeNext(next), replace: true });
    },
    [queries, navigate, next],
  );
}

/** The language of the account outranks the device's (contract 2.1). */
export function applyLocale(locale: string | null | undefined): void {
  if (!locale) return;
  const wanted = locale.toLowerCase().startsWith("zh") ? "zh-CN" : "en";
  if (wanted !== getLocale()) setLocale(wanted);
}

/** Ends the session here and on the server. `unsent` messages of this device are dropped: ask first when there are any. */
export function useSignOut(): { signOut: () => Promise<void>; unsent: () => number } {
  const queries = useQueryClient();
  const hub = useContext(HubContext);
  const signOut = useCallback(async () => {
    hub?.forgetUnsent();
    // The local session ends whatever the server says; a token that could not be revoked stays listed under sessions.
    await logout().catch(() => undefined);
    queries.clear();
    session.end("signed_out");
  }, [hub, queries]);
  const unsent = useCallback(() => (hub ? unsentCount(hub.outbox.get()) : 0), [hub]);
  return { signOut, unsent };
}
