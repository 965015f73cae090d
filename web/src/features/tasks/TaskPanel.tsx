import { Check, ChevronLeft, Circle, CircleDot, CornerLeftUp, Minus, X } from "lucide-react";
import type { ReactNode } from "react";
import type { Id, TaskDetail, TaskStep } from "#/api/types";
import { Markdown } from "#/components/markdown/Markdown";
import { Button } from "#/components/ui/button";
import { Empty, Skeleton } from "#/components/ui/states";
import { isKey, t as say, useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { elapsed, exactTime, shortTime } from "#/lib/format";
import { useSelf } from "#/lib/self";
import { useNow } from "#/lib/useNow";
import { useTask, useTaskStep } from "./queries";
import { StateBadge } from "./StateBadge";
import { ended, failureWords, joinWords, requesterWords } from "./states";
import { runSteps } from "./steps";
import { TaskActions } from "./TaskActions";
import { WhyItWaits } from "./WhyItWaits";

type Props = {
  id: Id;
  onClose: () => void;
  onOpen: (id: Id) => void;
  /** What the run asks permission for; it is answered where it is shown. */
  requests?: ((task: Id) => ReactNode) | undefined;
};

/** One task: how it stands, live, its question, plan, parts and history, and what can be done about it. */
export function TaskPanel({ id, onClose, onOpen, requests }: Props) {
  const t = useT();
  const task = useTask(id);
  return (
    <div className="px-4 pt-3 pb-14 sm:px-6">
      <Button variant="quiet" size="sm" className="mb-3 -ml-2" onClick={onClose}>
        <ChevronLeft size={16} strokeWidth={1.75} />
        {t("tasks.back")}
      </Button>
      {task.isPending && (
        <div role="status" aria-busy="true" aria-label={t("common.loading")} className="flex flex-col gap-3">
          <Skeleton className="h-8 w-2/3" />
          <Skeleton className="h-32 w-full" />
        </div>
      )}
      {task.error && !task.data && (
        <Empty title={t("tasks.gone")} action={<Button onClick={() => void task.refetch()}>{t("common.retry")}</Button>} />
      )}
      {task.data && <Detail task={task.data} onOpen={onOpen} requests={requests?.(id)} />}
    </div>
  );
}

function Detail({ task, onOpen, requests }: { task: TaskDetail; onOpen: (id: Id) => void; requests: ReactNode }) {
  const t = useT();
  const self = useSelf();
  const who = (task.assignees ?? []).map((p) => p.displayName).join(", ");
  const why = task.failure && failureWords(task.failure);
  const lasted = task.startedAt && task.endedAt ? Date.parse(task.endedAt) - Date.parse(task.startedAt) : null;
  const above = task.parentTaskId ?? task.retryOf;
  return (
    <article aria-labelledby="task-title">
      {above && (
        <button
          type="button"
          onClick={() => onOpen(above)}
          className="hit mb-1 inline-flex items-center gap-1.5 rounded-control text-meta text-text-3 hover:text-text"
        >
          <CornerLeftUp size={14} strokeWidth={1.75} aria-hidden="true" />
          {t(task.parentTaskId ? "tasks.parent" : "tasks.retryOf")}
        </button>
      )}
      <h2 id="task-title" className="break-words font-semibold text-title">
        {task.title}
      </h2>
      <p className="mt-1.5 flex flex-wrap items-center gap-x-2 gap-y-1 text-meta text-text-3">
        <StateBadge
          status={task.status}
          endKind={task.endKind}
          working={task.working ?? false}
          forYou={!ended(task.status) && task.asks.some((a) => a.status === "open" && a.asked.includes(self.id))}
        />
        <span className="min-w-0 break-words">
          {[
            who && t("tasks.by", { name: who }),
            requesterWords(task, self.id),
            lasted !== null && lasted >= 1000 && t("tasks.took", { time: elapsed(lasted) }),
          ]
            .filter(Boolean)
            .join(" · ")}
        </span>
      </p>
      {task.working && <Running task={task} />}
      <WhyItWaits task={task} onOpen={onOpen} requests={requests} />
      {why && (
        <Part title={t("tasks.failure")}>
          <div className="rounded-panel border border-bad-line bg-bad-soft px-3.5 py-2.5 text-side">
            <p className="break-words font-medium text-bad-text">{why.title}</p>
            {why.detail && <p className="mt-0.5 whitespace-pre-wrap break-words text-text-2">{why.detail}</p>}
            <p className="mt-1 text-meta text-text-2">
              {task.failure?.origin === "platform" ? t("tasks.origin.platform") : t("tasks.origin.tool")}
              {task.failure?.transient && ` ${t("tasks.transient")}`}
            </p>
          </div>
        </Part>
      )}
      {task.endKind === "empty" && (
        <p className="mt-4 rounded-panel border border-wait-line bg-wait-soft px-3.5 py-2.5 text-side text-wait-text">{t("tasks.emptyHint")}</p>
      )}
      {(task.response || task.summary) && (
        <Part title={t(task.failure ? "tasks.partial" : "tasks.result")}>
          <div className="text-side">
            <Markdown source={task.response || task.summary || ""} people={[]} selfId="" growing={false} />
          </div>
        </Part>
      )}
      {task.steps.length > 0 && (
        <Part title={t("tasks.plan")}>
          <ol className="flex flex-col gap-1.5 text-side">
            {task.steps.map((s) => (
              <Step key={s.id} step={s} />
            ))}
          </ol>
        </Part>
      )}
      {task.subtasks.length > 0 && (
        <Part title={t("tasks.subtasks")} hint={joinWords(task.join, task.subtasks)}>
          <ul className="divide-y divide-line overflow-hidden rounded-panel border border-line">
            {task.subtasks.map((s) => (
              <li key={s.id}>
                <button
                  type="button"
                  onClick={() => onOpen(s.id)}
                  className="ring-inset-focus flex w-full items-start gap-2 bg-raised px-3 py-2 text-left text-side hover:bg-hover"
                >
                  <span className="min-w-0 flex-1 break-words">{[s.title, ...(s.assignees ?? []).map((p) => p.displayName)].join(" · ")}</span>
                  <StateBadge status={s.status} endKind={s.endKind} working={s.working ?? false} />
                </button>
              </li>
            ))}
          </ul>
        </Part>
      )}
      {task.description && (
        <Part title={t("tasks.description")}>
          <p className="whitespace-pre-wrap break-words text-side">{task.description}</p>
        </Part>
      )}
      <TaskActions task={task} onOpen={onOpen} />
      <Part title={t("tasks.history")}>
        <ol className="flex flex-col gap-1 text-meta">
          {task.history.map((e) => (
            <li key={e.id} className="flex gap-2">
              <time dateTime={e.insertedAt} title={exactTime(e.insertedAt)} className="w-16 shrink-0 text-text-3 tabular-nums">
                {shortTime(e.insertedAt)}
              </time>
              <span className="min-w-0 break-words text-text-2">
                {eventWords(e.kind)}
                {e.note && <span className="text-text-3"> {noteWords(e.note)}</span>}
              </span>
            </li>
          ))}
        </ol>
      </Part>
    </article>
  );
}

/** What the run does now, with the steps before it. */
function Running({ task }: { task: TaskDetail }) {
  const t = useT();
  const live = useTaskStep(task.id);
  const now = useNow(true);
  const told = runSteps(task.history);
  const last = told[told.length - 1];
  const current = live || last?.note || "";
  const before = told.filter((e) => e.note !== current);
  const since = last && last.note === current ? Date.parse(last.insertedAt) : null;
  return (
    <section aria-label={t("tasks.steps")} className="mt-4 rounded-panel border border-line bg-raised px-3.5 py-3 text-side">
      <p className="text-meta text-text-3">{task.workingSince && t("tasks.workingFor", { time: elapsed(now - Date.parse(task.workingSince)) })}</p>
      {current && (
        <ol className="mt-1.5 flex flex-col gap-1">
          {before.map((e) => (
            <li key={e.id} className="flex items-start gap-2 text-text-2">
              <Check size={16} strokeWidth={1.75} aria-hidden="true" className="mt-0.5 shrink-0 text-text-3" />
              <span className="min-w-0 break-words">{e.note}</span>
            </li>
          ))}
          <li className="flex items-start gap-2">
            <span aria-hidden="true" className="mx-1 mt-1.5 size-2 shrink-0 animate-breathe rounded-full bg-accent" />
            <span aria-live="polite" className="min-w-0 flex-1 break-words font-medium">
              {current}
            </span>
            {since !== null && <span className="shrink-0 text-meta text-text-3 tabular-nums">{elapsed(now - since)}</span>}
          </li>
        </ol>
      )}
    </section>
  );
}

const stepIcons = { completed: Check, in_progress: CircleDot, failed: X, skipped: Minus };

function Step({ step }: { step: TaskStep }) {
  const Icon = stepIcons[step.status as keyof typeof stepIcons] ?? Circle;
  const tone = step.status === "failed" ? "text-bad-text" : step.status === "in_progress" ? "text-accent-text" : "text-text-3";
  return (
    <li className="flex items-start gap-2">
      <Icon size={16} strokeWidth={1.75} aria-hidden="true" className={cx("mt-0.5 shrink-0", tone)} />
      <span className={cx("min-w-0 break-words", step.status === "skipped" && "text-text-3")}>
        {step.title} <span className="text-meta text-text-3">{stepWords(step.status)}</span>
      </span>
    </li>
  );
}

function Part({ title, hint, children }: { title: string; hint?: string; children: ReactNode }) {
  return (
    <section className="mt-6">
      <h3 className="mb-1.5 font-medium text-[13px] text-text-3">
        {title}
        {hint && <span className="font-normal"> · {hint}</span>}
      </h3>
      {children}
    </section>
  );
}

function stepWords(status: string): string {
  const key = `tasks.step.${status}`;
  return isKey(key) ? say(key) : status;
}

function eventWords(kind: string): string {
  const key = `tasks.event.${kind}`;
  return isKey(key) ? say(key) : kind;
}

/** Notes of the platform have words; what a person or an agent wrote is told as it is. */
function noteWords(note: string): string {
  const key = note.startsWith("waits for sub") ? "tasks.note.subtasks" : `tasks.note.${note}`;
  if (isKey(key)) return say(key);
  const failure = `tasks.failure.${note}`;
  return isKey(failure) ? say(failure) : note;
}
