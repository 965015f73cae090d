import { createFileRoute } from "@tanstack/react-router";
import { MessagesSquare } from "lucide-react";
import { Button } from "#/components/ui/button";
import { keyName } from "#/components/ui/kbd";
import { Empty } from "#/components/ui/states";
import { useT } from "#/i18n";
import { setShell } from "#/shell/ui-state";

export const Route = createFileRoute("/_app/")({ component: Home });

function Home() {
  const t = useT();
  return (
    <main className="grid h-full place-items-center">
      <Empty
        icon={<MessagesSquare size={28} strokeWidth={1.5} />}
        title={t("shell.home")}
        hint={t("shell.homeHint", { keys: `${keyName("Mod")} K` })}
        action={
          <Button variant="primary" onClick={() => setShell({ newRoom: true })}>
            {t("rooms.new")}
          </Button>
        }
      />
    </main>
  );
}
