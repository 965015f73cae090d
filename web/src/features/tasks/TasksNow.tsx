import { Link } from "@tanstack/react-router";
import type { Id, Task } from "#/api/types";
import { Avatar } from "#/components/ui/avatar";
import { useT } from "#/i18n";
import { exactTime, shortTime } from "#/lib/format";
import { useTaskStep, useTasks } from "./queries";
import { StateBadge } from "./StateBadge";
import { inQueueOrder, wholes } from "./states";

type Props = { waiting: ReadonlySet<Id>; most?: number };

/** What is being worked at, and what has ended lately. Draws nothing when there is neither. */
export function TasksNow({ waiting, most = 3 }: Props) {
  const t = useT();
  const open = wholes(useTasks("open", null).data?.pages.flatMap((p) => p.tasks) ?? []);
  const ended = wholes(useTasks("ended", null).data?.pages.flatMap((p) => p.tasks) ?? []);
  return (
    <>
      <Group title={t("tasks.nowOpen")} tasks={inQueueOrder(open)} most={most} waiting={waiting} filter={undefined} />
      <Group title={t("tasks.nowEnded")} tasks={ended} most={most} waiting={waiting} filter="ended" />
    </>
  );
}

type GroupProps = { title: string; tasks: readonly Task[]; most: number; waiting: ReadonlySet<Id>; filter: "ended" | undefined };

function Group({ title, tasks, most, waiting, filter }: GroupProps) {
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
            <Row task={task} forYou={waiting.has(task.id)} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Row({ task, forYou }: { task: Task; forYou: boolean }) {
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
      <StateBadge status={task.status} endKind={task.endKind} working={task.working ?? false} forYou={forYou} />
    </Link>
  );
}
