import { createFileRoute, redirect } from "@tanstack/react-router";
import { session } from "#/api/session";
import { SignupPage } from "#/features/auth/SignupPage";
import { safeNext } from "#/features/auth/session";

export const Route = createFileRoute("/signup")({
  validateSearch: (search: Record<string, unknown>): { next?: string; invite?: string } => ({
    ...(typeof search["next"] === "string" ? { next: search["next"] } : {}),
    ...(typeof search["invite"] === "string" ? { invite: search["invite"] } : {}),
  }),
  beforeLoad: ({ search }) => {
    if (session.get()) throw redirect({ href: safeNext(search.next) });
  },
  component: Page,
});

function Page() {
  const { next, invite } = Route.useSearch();
  return <SignupPage next={safeNext(next)} invite={invite ?? ""} />;
}
