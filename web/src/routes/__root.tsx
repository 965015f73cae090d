import type { QueryClient } from "@tanstack/react-query";
import { createRootRouteWithContext, type ErrorComponentProps, Link, Outlet } from "@tanstack/react-router";
import { Button } from "#/components/ui/button";
import { Empty } from "#/components/ui/states";
import { useT } from "#/i18n";

export const Route = createRootRouteWithContext<{ queryClient: QueryClient }>()({
  component: Outlet,
  errorComponent: Crash,
  notFoundComponent: NotFound,
});

function Crash(_props: ErrorComponentProps) {
  const t = useT();
  return (
    <main className="grid h-full place-items-center" role="alert">
      <Empty
        title={t("error.crash")}
        hint={t("error.crashHint")}
        action={
          <Button variant="primary" onClick={() => window.location.reload()}>
            {t("error.reload")}
          </Button>
        }
      />
    </main>
  );
}

function NotFound() {
  const t = useT();
  return (
    <main className="grid h-full place-items-center">
      <Empty
        title={t("error.notFound")}
        hint={t("error.notFoundHint")}
        action={
          <Button variant="primary" asChild>
            <Link to="/">{t("error.goHome")}</Link>
          </Button>
        }
      />
    </main>
  );
}
