import { createFileRoute, redirect } from "@tanstack/react-router";
import { session } from "#/api/session";
import { LoginPage } from "#/features/auth/LoginPage";
import { safeNext } from "#/features/auth/session";

export const Route = createFileRoute("/login")({
  validateSearch: (search: Record<string, unknown>): { next?: string; expired?: boolean } => ({
    ...(typeof search["next"] === "string" ? { next: search["next"] } : {}),
    ...(search["expired"] === true ? { expired: true } : {}),
  }),
  // A one-time link is honoured even when somebody is signed in: it is how the owner of a fresh server gets in.
  beforeLoad: ({ search }) => {
    if (session.get() && !window.location.hash.includes("token=")) throw redirect({ href: safeNext(search.next) });
  },
  component: Page,
});

function Page() {
  const { next, expired } = Route.useSearch();
  return <LoginPage next={safeNext(next)} expired={expired === true} />;
}
