import { createFileRoute, Outlet, redirect } from "@tanstack/react-router";
import { session } from "#/api/session";

// Everything below this layout needs a signed-in person; who is not goes to /login and comes back afterwards.
export const Route = createFileRoute("/_app")({
  beforeLoad: ({ location }) => {
    if (!session.get()) throw redirect({ href: `/login?next=${encodeURIComponent(location.href)}` });
  },
  component: Outlet,
});
