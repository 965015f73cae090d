import { Link, Navigate, useNavigate } from "@tanstack/react-router";
import { ChevronRight, MessagesSquare } from "lucide-react";
import type { Agent } from "#/api/types";
import { Avatar } from "#/components/ui/avatar";
import { Button } from "#/components/ui/button";
import { keyName } from "#/components/ui/kbd";
import { toast } from "#/components/ui/toast";
import { useWaitingCount } from "#/features/decisions/queries";
import { useWaitingTasks } from "#/features/decisions/TaskRequests";
import { WaitingList } from "#/features/decisions/WaitingList";
import { useAgentsQuery, useCreateRoom } from "#/features/rooms/data";
import { TasksNow, useTasksNow } from "#/features/tasks/TasksNow";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { errorLine } from "#/lib/errorLine";
import { readLocal } from "#/lib/storage";
import { useConversations, usePresence } from "#/realtime/hooks";
import { setShell } from "./ui-state";

const guideKey = "agntchat.guideSeen";

/** Where one lands: whom one can talk to. An account with nobody in it yet goes to the guide, once. */
export function HomePage() {
  const t = useT();
  const { status, rooms } = useConversations();
  const agents = useAgentsQuery();
  const now = useTasksNow(useWaitingTasks());
  const busy = useWaitingCount() + now.open.length + now.ended.length > 0;
  const active = (agents.data ?? []).filter((a) => a.status !== "deactivated");
  const nobody = status === "ready" && rooms.length === 0 && agents.isSuccess && active.length === 0;
  if (nobody && readLocal(guideKey) === null) {
    localStorage.setItem(guideKey, "1");
    return <Navigate to="/welcome" replace />;
  }
  return (
    <main className={cx("h-full overflow-y-auto", !busy && "grid place-items-center px-6 py-10")}>
      <div className={cx("flex w-full flex-col", busy ? "mx-auto max-w-[680px] px-6 pt-8 pb-14" : "max-w-[440px] items-center text-center")}>
        {!busy && <MessagesSquare size={28} strokeWidth={1.5} className="mb-3 text-text-3" />}
        <h1 className="text-balance font-semibold text-head">{t(busy ? "shell.homeForYou" : "shell.home")}</h1>
        <p className={cx("text-pretty text-side text-text-2", !busy && "mt-1")}>
          {t(busy ? "shell.homeForYouHint" : "shell.homeHint", { keys: `${keyName("Mod")} K` })}
        </p>
        {busy && (
          <div className="mt-6 flex flex-col gap-6">
            <WaitingList />
            <TasksNow {...now} />
          </div>
        )}
        {active.length > 0 && (
          <section className="mt-6 w-full text-left">
            <h2 className="mb-1.5 px-1 font-medium text-[13px] text-text-3">{t("shell.homeAgents")}</h2>
            <ul className="overflow-hidden rounded-panel border border-line">
              {active.slice(0, 4).map((a) => (
                <AgentLine key={a.id} agent={a} />
              ))}
            </ul>
          </section>
        )}
        <div className={cx("mt-6 flex flex-wrap gap-2", !busy && "justify-center")}>
          <Button variant={active.length > 0 ? "primary" : "secondary"} onClick={() => setShell({ newRoom: true })}>
            {t("rooms.new")}
          </Button>
          {agents.isSuccess && (
            <Button variant={active.length > 0 ? "secondary" : "primary"} className={active.length > 0 ? undefined : "-order-1"} asChild>
              <Link to="/welcome">{t("shell.homeMore")}</Link>
            </Button>
          )}
        </div>
      </div>
    </main>
  );
}

function AgentLine({ agent }: { agent: Agent }) {
  const t = useT();
  const presence = usePresence(agent.id);
  const navigate = useNavigate();
  const create = useCreateRoom();
  const open = () =>
    create.mutate(
      { type: "direct", memberIds: [agent.id] },
      {
        onSuccess: (room) => void navigate({ to: "/rooms/$roomId", params: { roomId: room.id } }),
        onError: (e) => toast({ title: t("rooms.createFailed"), detail: errorLine(e), tone: "bad" }),
      },
    );
  return (
    <li className="border-line border-t first:border-t-0">
      <button
        type="button"
        onClick={open}
        aria-busy={create.isPending || undefined}
        className="ring-inset-focus flex w-full items-center gap-3 bg-raised px-3 py-2.5 text-left hover:bg-hover [--presence-halo:var(--raised)]"
      >
        <Avatar id={agent.id} name={agent.displayName} kind="agent" src={agent.avatarUrl} size={36} presence={presence} />
        <span className="min-w-0 flex-1">
          <span className="block truncate font-medium text-side">{agent.displayName}</span>
          <span className="block truncate text-[13px] text-text-3 leading-4.5">{agent.description || t(`presence.${presence}`)}</span>
        </span>
        <ChevronRight size={16} strokeWidth={1.75} className="shrink-0 text-text-3" />
      </button>
    </li>
  );
}
