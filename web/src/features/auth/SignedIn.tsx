import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type ReactNode, useEffect } from "react";
import { keys } from "#/api/keys";
import { getMe, setTimezone } from "#/api/me";
import { session } from "#/api/session";
import { readLocal } from "#/lib/storage";
import { CHOSEN_ZONE } from "#/lib/zone";
import { RealtimeProvider } from "#/realtime/RealtimeProvider";
import { PolicyGate } from "./PolicyGate";
import { applyLocale, useSession } from "./session";

/**
 * The layer between the address and the app: leaves when the session ends, refreshes the person in the background, tells the server the device's time
 * zone, holds everything back while terms are to be accepted, and owns the live connection.
 */
export function SignedIn({ children }: { children: ReactNode }) {
  const current = useSession();
  const navigate = useNavigate();
  const selfId = current?.self.id;

  useEffect(
    () =>
      session.subscribe((s, reason) => {
        if (s) return;
        const here = window.location.pathname + window.location.search;
        void navigate({
          to: "/login",
          search: reason === "signed_out" ? {} : { next: here, ...(reason === "expired" ? { expired: true } : {}) },
          replace: true,
        });
      }),
    [navigate],
  );

  const me = useQuery({ queryKey: keys.me, queryFn: ({ signal }) => getMe(signal), enabled: selfId !== undefined, staleTime: 60_000 });
  useEffect(() => {
    if (!me.data) return;
    session.update(me.data);
    applyLocale(me.data.locale);
    const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
    // A zone chosen by hand is kept. Best effort: a server that does not take it costs nothing.
    if (here && me.data.timezone !== here && readLocal(CHOSEN_ZONE) === null) void setTimezone(here).catch(() => undefined);
  }, [me.data]);

  if (!current || !selfId) return null;
  if (current.self.policyReacceptRequired) return <PolicyGate />;
  return (
    <RealtimeProvider key={selfId} selfId={selfId}>
      {children}
    </RealtimeProvider>
  );
}
