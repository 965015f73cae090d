import { useNavigate } from "@tanstack/react-router";
import { ChevronRight, ListFilter as FilterIcon, X } from "lucide-react";
import { type KeyboardEvent, useMemo, useState } from "react";
import { Button, IconButton } from "#/components/ui/button";
import { Empty, ErrorState, Skeleton } from "#/components/ui/states";
import { toast } from "#/components/ui/toast";
import { useLocale, useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { errorLine } from "#/lib/errorLine";
import { useSelf } from "#/lib/self";
import { readLocal, writeLocal } from "#/lib/storage";
import { useConversations } from "#/realtime/hooks";
import { useAgents, useCreateRoom, useRoomEntries } from "./data";
import { AgentRow, RoomRow } from "./RoomRow";
import { buildSections, type ListFilter, type Section, type SectionId } from "./sections";

const filters: readonly ListFilter[] = ["all", "unread", "mentions"];
const foldKey = "agntchat.folded";

/** The list of the sidebar: rooms, people and agents with what is new in them. */
export function RoomList({ openId, onNew }: { openId: string | undefined; onNew: () => void }) {
  const t = useT();
  useLocale();
  const self = useSelf();
  const { status, error, retry } = useConversations();
  const entries = useRoomEntries();
  const agents = useAgents();
  const [filter, setFilter] = useState<ListFilter>("all");
  const [query, setQuery] = useState("");
  const [folded, setFolded] = useState<ReadonlySet<string>>(() => new Set((readLocal(foldKey) ?? "").split(",").filter(Boolean)));
  const sections = useMemo(
    () => buildSections({ entries, agents, selfId: self.id, filter, query: query.trim(), openId }),
    [entries, agents, self.id, filter, query, openId],
  );
  const create = useCreateRoom();
  const navigate = useNavigate();
  const open = (agentId: string) =>
    create.mutate(
      { type: "direct", memberIds: [agentId] },
      {
        onSuccess: (room) => void navigate({ to: "/rooms/$roomId", params: { roomId: room.id } }),
        onError: (e) => toast({ title: t("rooms.createFailed"), detail: errorLine(e), tone: "bad" }),
      },
    );
  const fold = (id: SectionId) => {
    const next = new Set(folded);
    if (!next.delete(id)) next.add(id);
    writeLocal(foldKey, [...next].join(","));
    setFolded(next);
  };
  const shown = sections.filter((s) => s.rows.length > 0);

  return (
    <nav aria-label={t("rooms.list")} className="flex min-h-0 flex-1 flex-col" onKeyDown={walk}>
      <div className="px-3 pb-2">
        <div className="relative">
          <FilterIcon
            size={15}
            strokeWidth={1.75}
            aria-hidden="true"
            className="-translate-y-1/2 pointer-events-none absolute top-1/2 left-2.5 text-text-3"
          />
          <input
            type="text"
            value={query}
            onChange={(e) => setQuery(e.target.value)}
            onKeyDown={(e) => {
              if (e.key === "Escape" && query) {
                e.stopPropagation();
                setQuery("");
              }
            }}
            aria-label={t("rooms.filter")}
            placeholder={t("rooms.filter")}
            className="h-8 w-full rounded-control bg-hover pr-8 pl-8 text-side focus-visible:outline-offset-0 max-sm:text-[16px] coarse:h-10"
          />
          {query && (
            <IconButton size="sm" label={t("rooms.clearFilter")} onClick={() => setQuery("")} className="-translate-y-1/2 absolute top-1/2 right-0.5">
              <X size={14} strokeWidth={1.75} />
            </IconButton>
          )}
        </div>
        <div role="radiogroup" aria-label={t("rooms.show")} className="mt-2 flex gap-1">
          {filters.map((f) => (
            // biome-ignore lint/a11y/useSemanticElements: a chip that looks like a button and acts like a radio.
            <button
              key={f}
              type="button"
              role="radio"
              aria-checked={filter === f}
              onClick={() => setFilter(f)}
              className="hit h-6.5 rounded-full px-2.5 text-[13px] text-text-2 hover:bg-hover aria-checked:bg-selected aria-checked:font-medium aria-checked:text-text"
            >
              {t(`rooms.show.${f}`)}
            </button>
          ))}
        </div>
      </div>
      <div className="min-h-0 flex-1 overflow-y-auto px-2 pb-4">
        {status === "loading" && <ListSkeleton />}
        {status === "error" && (
          <ErrorState className="py-6" title={t("rooms.loadFailed")} requestId={error?.requestId || undefined} onRetry={retry} />
        )}
        {status === "ready" && shown.length === 0 && <Nothing filter={filter} query={query} onNew={onNew} />}
        {shown.map((section) => (
          <SectionView
            key={section.id}
            section={section}
            folded={folded.has(section.id) && !query}
            onFold={() => fold(section.id)}
            openId={openId}
            selfId={self.id}
            busyAgent={create.isPending ? create.variables.memberIds[0] : undefined}
            onOpenAgent={open}
          />
        ))}
      </div>
    </nav>
  );
}

function Nothing({ filter, query, onNew }: { filter: ListFilter; query: string; onNew: () => void }) {
  const t = useT();
  if (query) return <Empty title={t("rooms.noneMatch")} />;
  if (filter === "unread") return <Empty title={t("rooms.allRead")} />;
  if (filter === "mentions") return <Empty title={t("rooms.noMentions")} />;
  return (
    <Empty
      title={t("rooms.none")}
      hint={t("rooms.noneHint")}
      action={
        <Button variant="primary" onClick={onNew}>
          {t("rooms.new")}
        </Button>
      }
    />
  );
}

type SectionProps = {
  section: Section;
  folded: boolean;
  onFold: () => void;
  openId: string | undefined;
  selfId: string;
  busyAgent: string | undefined;
  onOpenAgent: (id: string) => void;
};

function SectionView({ section, folded, onFold, openId, selfId, busyAgent, onOpenAgent }: SectionProps) {
  const t = useT();
  const name = t(`rooms.section.${section.id}`);
  return (
    <section className="mt-2 first:mt-0">
      <h2>
        <button
          type="button"
          aria-expanded={!folded}
          aria-label={t(folded ? "rooms.unfold" : "rooms.fold", { section: name })}
          onClick={onFold}
          className="hit ring-inset-focus flex h-7 w-full items-center gap-1 rounded-control px-2 font-medium text-[13px] text-text-3 hover:text-text-2"
        >
          {name}
          <ChevronRight size={14} strokeWidth={1.75} className={cx("transition-transform", !folded && "rotate-90")} />
          <span className="flex-1" />
          {folded && section.unread > 0 && <span className="size-2 rounded-full bg-accent" />}
        </button>
      </h2>
      {!folded && (
        <ul className="flex flex-col gap-px">
          {section.rows.map((row) => (
            <li key={row.key}>
              {row.kind === "room" ? (
                <RoomRow entry={row.entry} title={row.title} selfId={selfId} open={row.entry.room.id === openId} />
              ) : (
                <AgentRow agent={row.agent} busy={busyAgent === row.agent.id} onOpen={() => onOpenAgent(row.agent.id)} />
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function ListSkeleton() {
  return (
    <div aria-busy="true" className="flex flex-col gap-1 pt-7">
      {[72, 54, 88, 63, 47, 79].map((w) => (
        <div key={w} className="flex items-center gap-2.5 px-2 py-1.5">
          <Skeleton className="size-8 rounded-full" />
          <span className="flex flex-1 flex-col gap-1.5">
            <span style={{ width: `${w}%` }}>
              <Skeleton className="h-3.5" />
            </span>
            <span style={{ width: `${w * 0.7}%` }}>
              <Skeleton className="h-3" />
            </span>
          </span>
        </div>
      ))}
    </div>
  );
}

/** Up and Down walk through the rows. */
function walk(event: KeyboardEvent<HTMLElement>): void {
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const rows = [...event.currentTarget.querySelectorAll<HTMLElement>("[data-nav]")];
  const at = rows.indexOf(document.activeElement as HTMLElement);
  const next = at < 0 ? (event.key === "ArrowDown" ? rows[0] : undefined) : rows[at + (event.key === "ArrowDown" ? 1 : -1)];
  if (!next) return;
  event.preventDefault();
  next.focus();
}
