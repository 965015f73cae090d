import { createFileRoute, Outlet, redirect } from "@tanstack/react-router";
import { session } from "#/api/session";
import { SignedIn } from "#/features/auth/SignedIn";
import { Notifier } from "#/features/notify/Notifier";
import { AppShell } from "#/shell/AppShell";

// Everything below this layout needs a signed-in person; who is not goes to /login and comes back afterwards.
export const Route = createFileRoute("/_app")({
  beforeLoad: ({ location }) => {
    if (!session.get()) throw redirect({ href: `/login?next=${encodeURIComponent(location.href)}` });
  },
  component: Layout,
});

function Layout() {
  return (
    <SignedIn>
      <Notifier />
      <AppShell>
        <Outlet />
      </AppShell>
    </SignedIn>
  );
}
