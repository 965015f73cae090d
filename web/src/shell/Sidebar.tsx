import { Link, useNavigate } from "@tanstack/react-router";
import { Bot, Inbox, ListChecks, PenSquare, Search } from "lucide-react";
import { IconButton } from "#/components/ui/button";
import { Kbd } from "#/components/ui/kbd";
import { Tooltip } from "#/components/ui/tooltip";
import { useWaitingCount } from "#/features/decisions/queries";
import { RoomList } from "#/features/rooms/RoomList";
import { tn, useT } from "#/i18n";
import { useSelf } from "#/lib/self";
import { UserMenu } from "./UserMenu";
import { setShell } from "./ui-state";

/** The left bar: workspace, quick switcher, rooms, oneself. */
export function Sidebar({ openId }: { openId: string | undefined }) {
  const t = useT();
  const self = useSelf();
  const navigate = useNavigate();
  const workspace = self.organizations?.find((o) => o.id === self.activeOrganizationId) ?? self.organizations?.[0];
  return (
    <div className="flex h-full min-h-0 flex-col bg-rail">
      <header className="flex h-13 shrink-0 items-center gap-1 pr-2 pl-3">
        <Link to="/" className="flex min-w-0 flex-1 items-center gap-2.5 rounded-control px-1 py-1">
          <Mark />
          <span className="min-w-0 truncate font-semibold text-body">{workspace?.name || t("shell.workspace")}</span>
        </Link>
        <TasksButton />
        <DecisionsButton />
        <Tooltip content={t("shell.agents")}>
          <IconButton label={t("shell.agents")} onClick={() => void navigate({ href: "/agents" })}>
            <Bot size={18} strokeWidth={1.75} />
          </IconButton>
        </Tooltip>
        <Tooltip content={t("rooms.new")} keys={["Mod", "Shift", "O"]}>
          <IconButton label={t("rooms.new")} onClick={() => setShell({ newRoom: true })}>
            <PenSquare size={18} strokeWidth={1.75} />
          </IconButton>
        </Tooltip>
      </header>
      <div className="px-3 pb-2">
        <button
          type="button"
          onClick={() => setShell({ switcher: true })}
          className="flex h-8 w-full items-center gap-2 rounded-control border border-line bg-page px-2.5 text-side text-text-3 transition-colors hover:border-line-strong hover:text-text-2 coarse:h-10"
        >
          <Search size={15} strokeWidth={1.75} />
          <span className="flex-1 text-left">{t("shell.switch")}</span>
          <span className="coarse:hidden">
            <Kbd keys={["Mod", "K"]} />
          </span>
        </button>
      </div>
      <RoomList openId={openId} onNew={() => setShell({ newRoom: true })} />
      <footer className="flex shrink-0 items-center border-line border-t p-2 pb-[max(8px,env(safe-area-inset-bottom))]">
        <UserMenu />
      </footer>
    </div>
  );
}

function TasksButton() {
  const t = useT();
  const navigate = useNavigate();
  return (
    <Tooltip content={t("tasks.open")}>
      <IconButton label={t("tasks.open")} onClick={() => void navigate({ to: "/tasks" })}>
        <ListChecks size={18} strokeWidth={1.75} />
      </IconButton>
    </Tooltip>
  );
}

/** The inbox, with how much waits in it. */
function DecisionsButton() {
  const t = useT();
  const navigate = useNavigate();
  const waiting = useWaitingCount();
  const label = waiting > 0 ? tn("decisions.openCount", waiting) : t("decisions.open");
  return (
    <Tooltip content={t("decisions.open")}>
      <IconButton label={label} className="relative" onClick={() => void navigate({ to: "/decisions" })}>
        <Inbox size={18} strokeWidth={1.75} />
        {waiting > 0 && (
          <span
            aria-hidden="true"
            className="absolute -top-0.5 -right-0.5 grid h-4 min-w-4 place-items-center rounded-full bg-accent px-1 font-semibold text-[11px] text-on-accent leading-none"
          >
            {waiting > 99 ? "99+" : waiting}
          </span>
        )}
      </IconButton>
    </Tooltip>
  );
}

/** A person and an agent, side by side. */
function Mark() {
  return (
    <svg width="26" height="26" viewBox="0 0 32 32" aria-hidden="true" className="shrink-0 text-accent">
      <rect width="32" height="32" rx="9" fill="currentColor" />
      <circle cx="11.5" cy="16" r="5" fill="var(--on-accent)" />
      <rect x="18" y="11.5" width="9" height="9" rx="2.6" fill="var(--on-accent)" opacity=".8" />
    </svg>
  );
}
