import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Id, Task } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { Button } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { elapsed, exactTime, shortTime } from "#/lib/format";
import { useSelf } from "#/lib/self";
import { useNow } from "#/lib/useNow";
import { useClearTasks, useTaskQueue } from "./queries";
import { StateBadge } from "./StateBadge";
import { inQueueOrder, requesterWords } from "./states";

/** What an agent works at and what waits for it, in the order in which it will be taken; its owner may clear it. */
export function AgentQueue({ agentId }: { agentId: Id }) {
  const t = useT();
  const queue = useTaskQueue(agentId);
  const [clearing, setClearing] = useState(false);
  const tasks = inQueueOrder(queue.data ?? []);
  return (
    <Section
      title={t("tasks.queue")}
      hint={t("tasks.queueHint")}
      action={
        tasks.length > 0 && (
          <Button size="sm" variant="quiet-danger" onClick={() => setClearing(true)}>
            {t("tasks.queueClear")}
          </Button>
        )
      }
    >
      {queue.isPending ? (
        <Skeleton className="h-16 w-full" />
      ) : !queue.data ? (
        <ErrorNote error={queue.error} onRetry={() => void queue.refetch()} />
      ) : tasks.length === 0 ? (
        <p className="text-side text-text-2">{t("tasks.queueNone")}</p>
      ) : (
        <ul className="divide-y divide-line overflow-hidden rounded-panel border border-line">
          {tasks.map((task) => (
            <li key={task.id}>
              <Line task={task} />
            </li>
          ))}
        </ul>
      )}
      {clearing && <ClearDialog agentId={agentId} count={tasks.length} onDone={() => setClearing(false)} />}
    </Section>
  );
}

function Line({ task }: { task: Task }) {
  const t = useT();
  const self = useSelf();
  const now = useNow(task.working === true);
  return (
    <Link to="/tasks" search={{ task: task.id }} className="ring-inset-focus flex items-start gap-3 bg-raised px-4 py-2.5 text-side hover:bg-hover">
      <span className="min-w-0 flex-1">
        <span className="block break-words font-medium">{task.title}</span>
        <span className="block break-words text-meta text-text-3">
          {task.requester && `${requesterWords(task, self.id)} · `}
          {task.working && task.workingSince ? (
            t("tasks.workingFor", { time: elapsed(now - Date.parse(task.workingSince)) })
          ) : (
            <time dateTime={task.insertedAt} title={exactTime(task.insertedAt)}>
              {shortTime(task.insertedAt)}
            </time>
          )}
        </span>
      </span>
      <StateBadge status={task.status} endKind={task.endKind} working={task.working ?? false} />
    </Link>
  );
}

function ClearDialog({ agentId, count, onDone }: { agentId: Id; count: number; onDone: () => void }) {
  const t = useT();
  const clear = useClearTasks(agentId);
  return (
    <Dialog
      open
      onOpenChange={(o) => !o && onDone()}
      width="sm"
      title={t("tasks.queueClearSure", { n: count })}
      description={t("tasks.queueClearHint")}
      footer={
        <>
          <Button onClick={onDone}>{t("tasks.keep")}</Button>
          <Button variant="danger" busy={clear.isPending} onClick={() => clear.mutate(undefined, { onSuccess: onDone })}>
            {t("tasks.queueClear")}
          </Button>
        </>
      }
    >
      <ErrorNote error={clear.error} area="tasks" />
    </Dialog>
  );
}
