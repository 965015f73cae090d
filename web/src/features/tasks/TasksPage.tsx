import { ListChecks, Plus } from "lucide-react";
import { type ReactNode, type RefObject, useEffect, useRef } from "react";
import type { Id, Task } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Select } from "#/components/form/Select";
import { Avatar } from "#/components/ui/avatar";
import { Button } from "#/components/ui/button";
import { PageColumn, PageHead } from "#/components/ui/page";
import { Empty, Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { exactTime, shortTime } from "#/lib/format";
import { useSelf } from "#/lib/self";
import { NewTaskDialog } from "./NewTaskDialog";
import { useAgentsToAsk, useTasks } from "./queries";
import { StateBadge } from "./StateBadge";
import { columnOf, columns, failureWords, requesterWords, type TaskFilter, taskFilters, wholes } from "./states";
import { TaskPanel } from "./TaskPanel";

export const taskViews = ["list", "board"] as const;
export type TaskLook = (typeof taskViews)[number];

type Props = {
  look: TaskLook;
  filter: TaskFilter;
  /** Only what this participant does. */
  who: Id | null;
  openId: Id | null;
  /** A new task is being asked for. */
  creating: boolean;
  onChange: (next: { look?: TaskLook; filter?: TaskFilter; who?: Id | null; task?: Id | null; creating?: boolean }) => void;
  /** Tasks that wait for this person. */
  waiting: ReadonlySet<Id>;
  /** What the run of a task asks permission for. */
  requests?: ((task: Id) => ReactNode) | undefined;
};

/** All tasks that concern the person: a list or a board, and one of them beside it. */
export function TasksPage({ look, filter, who, openId, creating, onChange, waiting, requests }: Props) {
  const t = useT();
  const ask = (on: boolean) => onChange({ creating: on });
  return (
    <div className="flex h-full min-w-0">
      <section aria-label={t("tasks.title")} className={cx("h-full min-w-0 flex-1 overflow-y-auto", openId && "max-lg:hidden")}>
        <PageColumn className={look === "board" ? "max-w-none" : undefined}>
          <PageHead
            title={t("tasks.title")}
            hint={t("tasks.hint")}
            actions={
              <Button variant="primary" onClick={() => ask(true)}>
                <Plus size={16} strokeWidth={1.75} />
                {t("tasks.new")}
              </Button>
            }
          />
          <div className="mb-5 flex flex-wrap items-center gap-x-4 gap-y-2">
            <Choice
              label={t("tasks.filter")}
              all={taskFilters}
              value={filter}
              words={(f) => t(`tasks.filter.${f}`)}
              onChoose={(f) => onChange({ filter: f })}
            />
            <Choice
              label={t("tasks.views")}
              all={taskViews}
              value={look}
              words={(v) => t(`tasks.view.${v}`)}
              onChoose={(v) => onChange({ look: v })}
            />
            <Who value={who} onChoose={(id) => onChange({ who: id })} />
          </div>
          <Everything
            look={look}
            filter={filter}
            who={who}
            openId={openId}
            waiting={waiting}
            onOpen={(task) => onChange({ task })}
            onAll={() => onChange({ who: null, filter: "all" })}
            onNew={() => ask(true)}
          />
        </PageColumn>
      </section>
      {openId && (
        <aside className="h-full min-w-0 flex-1 overflow-y-auto border-line lg:max-w-[480px] lg:border-l">
          <h1 className="sr-only lg:hidden">{t("tasks.title")}</h1>
          <TaskPanel key={openId} id={openId} onClose={() => onChange({ task: null })} onOpen={(task) => onChange({ task })} requests={requests} />
        </aside>
      )}
      <NewTaskDialog open={creating} onOpenChange={ask} onMade={(task) => onChange({ task, creating: false })} />
    </div>
  );
}

type ChoiceProps<V extends string> = { label: string; all: readonly V[]; value: V; words: (v: V) => string; onChoose: (v: V) => void };

function Choice<V extends string>({ label, all, value, words, onChoose }: ChoiceProps<V>) {
  return (
    <fieldset className="flex flex-wrap gap-1">
      <legend className="sr-only">{label}</legend>
      {all.map((v) => (
        <button
          key={v}
          type="button"
          aria-pressed={v === value}
          onClick={() => onChoose(v)}
          className={cx(
            "hit rounded-control px-2.5 py-1 font-medium text-side transition-colors",
            v === value ? "bg-hover text-text" : "text-text-2 hover:bg-hover hover:text-text",
          )}
        >
          {words(v)}
        </button>
      ))}
    </fieldset>
  );
}

/** Whose tasks; all when nobody is chosen. */
function Who({ value, onChoose }: { value: Id | null; onChoose: (id: Id | null) => void }) {
  const t = useT();
  const agents = useAgentsToAsk().data ?? [];
  // Of one agent everything is shown anyway, unless an address asks for it.
  if (agents.length < 2 && value === null) return null;
  return (
    <Select
      aria-label={t("tasks.who")}
      value={value ?? ""}
      onChange={(e) => onChoose(e.target.value || null)}
      className="h-8 max-w-52 border-line! text-side coarse:h-10"
    >
      <option value="">{t("tasks.whoAll")}</option>
      {agents.map((a) => (
        <option key={a.id} value={a.id}>
          {a.displayName}
        </option>
      ))}
      {value !== null && !agents.some((a) => a.id === value) && <option value={value}>{t("tasks.whoOther")}</option>}
    </Select>
  );
}

type BodyProps = {
  look: TaskLook;
  filter: TaskFilter;
  who: Id | null;
  openId: Id | null;
  waiting: ReadonlySet<Id>;
  onOpen: (id: Id | null) => void;
  onAll: () => void;
  onNew: () => void;
};

function Everything({ look, filter, who, openId, waiting, onOpen, onAll, onNew }: BodyProps) {
  const t = useT();
  const list = useTasks(filter, who);
  const box = useRef<HTMLDivElement>(null);
  useKeys(box, openId !== null, () => onOpen(null), onNew);
  if (list.isPending) {
    return (
      <div role="status" aria-busy="true" aria-label={t("common.loading")} className="flex flex-col gap-2">
        <Skeleton className="h-16 w-full" />
        <Skeleton className="h-16 w-full" />
      </div>
    );
  }
  if (!list.data) return <ErrorNote error={list.error} onRetry={() => void list.refetch()} />;
  const all = wholes(list.data.pages.flatMap((p) => p.tasks));
  if (all.length === 0) {
    const narrowed = who !== null || filter !== "open";
    return (
      <Empty
        icon={<ListChecks size={28} strokeWidth={1.5} />}
        title={t("tasks.none")}
        hint={narrowed ? t("tasks.noneFilter") : t("tasks.noneHint")}
        action={narrowed && filter !== "all" ? <Button onClick={onAll}>{t("tasks.showAll")}</Button> : undefined}
      />
    );
  }
  return (
    <div ref={box}>
      <p className="mb-2.5 text-meta text-text-3 coarse:hidden">{t(look === "board" ? "tasks.keysBoard" : "tasks.keys")}</p>
      {look === "list" ? <List {...{ openId, waiting, onOpen }} tasks={all} /> : <Board {...{ openId, waiting, onOpen }} tasks={all} />}
      {list.hasNextPage && (
        <Button className="mt-4" busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {t("tasks.more")}
        </Button>
      )}
    </div>
  );
}

type RowsProps = { tasks: readonly Task[]; narrow?: boolean; openId: Id | null; waiting: ReadonlySet<Id>; onOpen: (id: Id) => void };

function List({ tasks, narrow = false, openId, waiting, onOpen }: RowsProps) {
  return (
    <ul className="flex flex-col gap-1.5">
      {tasks.map((task) => (
        <li key={task.id}>
          <Card task={task} current={task.id === openId} forYou={waiting.has(task.id)} narrow={narrow} onOpen={onOpen} />
        </li>
      ))}
    </ul>
  );
}

function Board({ tasks, openId, waiting, onOpen }: RowsProps) {
  const t = useT();
  return (
    <div className="grid gap-4 sm:grid-cols-2 xl:grid-cols-4">
      {columns.map((column) => {
        const here = tasks.filter((task) => columnOf(task.status) === column);
        return (
          <section key={column} data-column={column} aria-labelledby={`column-${column}`} className="min-w-0">
            <h2 id={`column-${column}`} className="mb-2 font-medium text-side text-text-2">
              {t(`tasks.column.${column}`)} <span className="text-text-3 tabular-nums">{here.length}</span>
            </h2>
            {here.length > 0 ? (
              <List narrow tasks={here} openId={openId} waiting={waiting} onOpen={onOpen} />
            ) : (
              <p className="rounded-panel border border-line border-dashed px-3.5 py-3 text-meta text-text-3 max-sm:hidden">
                {t("tasks.columnEmpty")}
              </p>
            )}
          </section>
        );
      })}
    </div>
  );
}

type CardProps = { task: Task; current: boolean; forYou: boolean; narrow: boolean; onOpen: (id: Id) => void };

function Card({ task, current, forYou, narrow, onOpen }: CardProps) {
  const t = useT();
  const self = useSelf();
  const doers = task.assignees ?? [];
  const who = doers.map((p) => p.displayName).join(", ");
  return (
    <button
      type="button"
      data-task={task.id}
      aria-current={current || undefined}
      onClick={() => onOpen(task.id)}
      className={cx(
        "ring-inset-focus flex w-full min-w-0 items-start gap-3 rounded-panel border px-3.5 py-2.5 text-left transition-colors",
        current ? "border-accent bg-raised" : "border-line bg-raised hover:bg-hover",
      )}
    >
      {doers[0] && !narrow && (
        <Avatar
          id={doers[0].id}
          name={doers[0].displayName}
          kind={doers[0].type === "agent" ? "agent" : "human"}
          src={doers[0].avatarUrl}
          size={28}
          className="mt-0.5"
        />
      )}
      <span className="flex min-w-0 flex-1 flex-col gap-1">
        <span className="flex w-full min-w-0 flex-wrap items-start gap-x-2 gap-y-1">
          <span className="min-w-0 grow basis-32 break-words font-medium text-body">{task.title}</span>
          <StateBadge status={task.status} endKind={task.endKind} working={task.working ?? false} forYou={forYou} />
        </span>
        <span className="break-words text-meta text-text-3">
          {[who && t("tasks.by", { name: who }), requesterWords(task, self.id)].filter(Boolean).join(" · ")}
          {" · "}
          <time dateTime={task.updatedAt} title={exactTime(task.updatedAt)}>
            {shortTime(task.updatedAt)}
          </time>
        </span>
        {task.failure && <span className="break-words text-bad-text text-meta">{failureWords(task.failure).title}</span>}
      </span>
    </button>
  );
}

/**
 * J and K move among the tasks, H and L (or the arrows) between the columns of the board, N asks for a new one, Escape closes the one beside them. Keys do
 * nothing while somebody types or a dialog is open.
 */
function useKeys(box: RefObject<HTMLDivElement | null>, open: boolean, close: () => void, ask: () => void): void {
  const latest = useRef({ open, close, ask });
  latest.current = { open, close, ask };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement | null;
      if (event.defaultPrevented || event.isComposing || event.metaKey || event.ctrlKey || event.altKey || event.shiftKey) return;
      if (target?.closest("input, textarea, select, [contenteditable]") || document.querySelector('[role="dialog"],[role="menu"]')) return;
      if (event.key === "Escape" && latest.current.open) {
        latest.current.close();
        event.preventDefault();
        return;
      }
      if (event.key === "n") {
        latest.current.ask();
        event.preventDefault();
        return;
      }
      const next = neighbour(box.current, event.key);
      if (!next) return;
      next.focus();
      next.scrollIntoView({ block: "nearest" });
      event.preventDefault();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [box]);
}

/** The card that a key leads to from the one with the focus; null when the key means nothing there. */
function neighbour(box: HTMLElement | null, key: string): HTMLElement | null {
  const cards = [...(box?.querySelectorAll<HTMLElement>("[data-task]") ?? [])];
  const current = document.activeElement as HTMLElement | null;
  const at = current ? cards.indexOf(current) : -1;
  const arrows = at >= 0;
  if (key === "j" || (arrows && key === "ArrowDown")) return cards[Math.min(at + 1, cards.length - 1)] ?? null;
  if (key === "k" || (arrows && key === "ArrowUp")) return cards[Math.max(at - 1, 0)] ?? null;
  const side = key === "h" || (arrows && key === "ArrowLeft") ? -1 : key === "l" || (arrows && key === "ArrowRight") ? 1 : 0;
  if (side === 0) return null;
  const all = [...(box?.querySelectorAll<HTMLElement>("[data-column]") ?? [])];
  if (!current || at < 0) return cards[0] ?? null;
  const here = all.findIndex((c) => c.contains(current));
  const row = [...(all[here]?.querySelectorAll<HTMLElement>("[data-task]") ?? [])].indexOf(current);
  // An empty column is passed over.
  for (let n = here + side; n >= 0 && n < all.length; n += side) {
    const there = all[n]?.querySelectorAll<HTMLElement>("[data-task]") ?? [];
    if (there.length > 0) return there[Math.min(row, there.length - 1)] ?? null;
  }
  return null;
}
