import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import type { Id, Task } from "#/api/types";
import { Avatar } from "#/components/ui/avatar";
import { useT } from "#/i18n";
import { exactTime, shortTime } from "#/lib/format";
import { useTaskStep, useTasks } from "./queries";
import { StateBadge } from "./StateBadge";
import { inQueueOrder, wholes } from "./states";

/** What is being worked at and does not wait for this person, and what has ended lately. */
export function useTasksNow(waiting: ReadonlySet<Id>): { open: Task[]; ended: Task[] } {
  const open = useTasks("open", null).data?.pages;
  const ended = useTasks("ended", null).data?.pages;
  return useMemo(
    () => ({
      open: inQueueOrder(wholes(open?.flatMap((p) => p.tasks) ?? []).filter((x) => !waiting.has(x.id))),
      ended: wholes(ended?.flatMap((p) => p.tasks) ?? []),
    }),
    [open, ended, waiting],
  );
}

type Props = ReturnType<typeof useTasksNow> & { most?: number };

/** Draws nothing when there is neither. */
export function TasksNow({ open, ended, most = 4 }: Props) {
  const t = useT();
  return (
    <>
      <Group title={t("tasks.nowOpen")} tasks={open} most={most} filter={undefined} />
      <Group title={t("tasks.nowEnded")} tasks={ended} most={most} filter="ended" />
    </>
  );
}

type GroupProps = { title: string; tasks: readonly Task[]; most: number; filter: "ended" | undefined };

function Group({ title, tasks, most, filter }: GroupProps) {
  const t = useT();
  if (tasks.length === 0) return null;
  return (
    <section aria-label={title}>
      <div className="mb-1.5 flex items-baseline justify-between gap-3 px-1">
        <h2 className="font-medium text-[13px] text-text-3">{title}</h2>
        {tasks.length > most && (
          <Link to="/tasks" search={filter ? { filter } : {}} className="rounded-control text-meta text-text-2 underline-offset-2 hover:underline">
            {t("tasks.nowAll", { n: tasks.length })}
          </Link>
        )}
      </div>
      <ul className="divide-y divide-line overflow-hidden rounded-panel border border-line">
        {tasks.slice(0, most).map((task) => (
          <li key={task.id}>
            <Row task={task} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Row({ task }: { task: Task }) {
  const t = useT();
  const step = useTaskStep(task.id);
  const who = task.assignees?.[0];
  return (
    <Link to="/tasks" search={{ task: task.id }} className="ring-inset-focus flex items-center gap-3 bg-raised px-3 py-2.5 hover:bg-hover">
      {who && <Avatar id={who.id} name={who.displayName} kind={who.type === "agent" ? "agent" : "human"} src={who.avatarUrl} size={36} />}
      <span className="min-w-0 flex-1">
        <span className="block truncate font-medium text-side">{task.title}</span>
        <span className="block truncate text-[13px] text-text-3 leading-4.5">
          {step && task.working ? (
            t("tasks.now", { step })
          ) : (
            <>
              {(task.assignees ?? []).map((p) => p.displayName).join(", ")}
              {" · "}
              <time dateTime={task.updatedAt} title={exactTime(task.updatedAt)}>
                {shortTime(task.updatedAt)}
              </time>
            </>
          )}
        </span>
      </span>
      <StateBadge status={task.status} endKind={task.endKind} working={task.working ?? false} />
    </Link>
  );
}
