import { Link, useParams, useRouterState } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import { useDecisionEvents, useWaitingCount } from "#/features/decisions/queries";
import { NewRoomDialog } from "#/features/rooms/NewRoomDialog";
import { useTaskEvents } from "#/features/tasks/queries";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { useUnreadTotal } from "#/realtime/hooks";
import { ConnectionBanner } from "./ConnectionBanner";
import { useNoStrayDrops } from "./DropZone";
import { QuickSwitcher } from "./QuickSwitcher";
import { Resizer } from "./Resizer";
import { Shortcuts } from "./Shortcuts";
import { Sidebar } from "./Sidebar";
import { setShell, useShell } from "./ui-state";
import { useShortcuts } from "./useShortcuts";

/**
 * The frame of the signed-in app: side bar, one page, and what lies over both. Below 768 px there is one column: the list at `/`, a page everywhere
 * else; each page has its own way back.
 */
export function AppShell({ children }: { children: ReactNode }) {
  const t = useT();
  const { roomId } = useParams({ strict: false });
  const atHome = useRouterState({ select: (s) => s.location.pathname === "/" });
  const sidebar = useShell("sidebar");
  const width = useShell("sidebarWidth");
  useShortcuts();
  useDecisionEvents();
  useTaskEvents();
  useTitle();
  useNoStrayDrops();
  return (
    <div className="flex h-full flex-col">
      <a
        href="#main"
        className="-translate-y-16 absolute top-2 left-2 z-50 rounded-control bg-accent px-3 py-1.5 font-medium text-on-accent text-side focus-visible:translate-y-0"
      >
        {t("shell.skip")}
      </a>
      <ConnectionBanner />
      <div className="flex min-h-0 flex-1">
        <div
          style={{ ["--side" as string]: `${width}px` }}
          className={cx("relative min-h-0 shrink-0 md:w-[var(--side)]", atHome ? "w-full" : "max-md:hidden", !sidebar && "md:hidden")}
        >
          <Sidebar openId={roomId} />
          <Resizer
            label={t("shell.resize")}
            side="right"
            value={width}
            min={240}
            max={480}
            initial={300}
            onChange={(v) => setShell({ sidebarWidth: v })}
          />
        </div>
        <div id="main" tabIndex={-1} className={cx("min-h-0 min-w-0 flex-1 outline-none", atHome && "max-md:hidden")}>
          {roomId || atHome ? children : <Page>{children}</Page>}
        </div>
      </div>
      <QuickSwitcher />
      <NewRoomDialogHost />
      <Shortcuts />
    </div>
  );
}

/** A page that is no room: a landmark, and on a phone the way back to the list. */
function Page({ children }: { children: ReactNode }) {
  const t = useT();
  return (
    <main className="flex h-full min-h-0 flex-col">
      <div className="flex h-12 shrink-0 items-center border-line border-b px-2 md:hidden">
        <Link to="/" className="hit inline-flex h-9 items-center gap-1 rounded-control pr-3 pl-1.5 text-side text-text-2 hover:bg-hover">
          <ChevronLeft size={20} strokeWidth={1.75} />
          {t("shell.backToRooms")}
        </Link>
      </div>
      <div className="min-h-0 flex-1">{children}</div>
    </main>
  );
}

function NewRoomDialogHost() {
  const open = useShell("newRoom");
  return <NewRoomDialog open={open} onOpenChange={(o) => setShell({ newRoom: o })} />;
}

/** The tab says how much is unread or waits for a decision. */
function useTitle(): void {
  const t = useT();
  const unread = useUnreadTotal() + useWaitingCount();
  useEffect(() => {
    document.title = unread > 0 ? t("shell.titleUnread", { count: unread > 99 ? "99+" : unread, title: "agntchat" }) : "agntchat";
  }, [unread, t]);
}
