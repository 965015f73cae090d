import { Link, useNavigate } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import type { Id, TaskAsk, TaskDetail } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Button } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Field, Input, Textarea } from "#/components/ui/input";
import { Empty, Skeleton } from "#/components/ui/states";
import { isKey, t as say, useT } from "#/i18n";
import { dateTime, elapsed, exactTime } from "#/lib/format";
import { useSelf } from "#/lib/self";
import { useNow } from "#/lib/useNow";
import { useAnswerTask, useCancel, useInterrupt, useRetry, useSetStatus, useTask, useTaskStep, useWatch } from "./queries";
import { StateBadge } from "./StateBadge";
import { ended } from "./states";

type Props = { id: Id; onClose: () => void; onOpen: (id: Id) => void };

/** One task: how it stands, live, its question, plan, parts and history, and what can be done about it. */
export function TaskPanel({ id, onClose, onOpen }: Props) {
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
      {task.data && <Detail task={task.data} onOpen={onOpen} />}
    </div>
  );
}

function Detail({ task, onOpen }: { task: TaskDetail; onOpen: (id: Id) => void }) {
  const t = useT();
  const self = useSelf();
  const step = useTaskStep(task.id);
  const now = useNow(task.working === true);
  const who = (task.assignees ?? []).map((p) => p.displayName).join(", ");
  const open = task.asks.find((a) => a.status === "open");
  return (
    <article aria-labelledby="task-title">
      <h2 id="task-title" className="break-words font-semibold text-title">
        {task.title}
      </h2>
      <p className="mt-1 flex flex-wrap items-center gap-x-2 gap-y-1 text-meta text-text-3">
        <StateBadge status={task.status} endKind={task.endKind} working={task.working ?? false} />
        <span>
          {[who && t("tasks.by", { name: who }), task.requester && t("tasks.for", { name: task.requester.displayName })].filter(Boolean).join(" · ")}
        </span>
      </p>
      <p aria-live="polite" className="mt-1 min-h-5 break-words text-meta text-text-2">
        {task.working && task.workingSince && t("tasks.workingFor", { time: elapsed(now - Date.parse(task.workingSince)) })}
        {task.working && step && ` · ${t("tasks.now", { step })}`}
        {task.retryAt && t("tasks.retryAt", { time: dateTime(task.retryAt) })}
      </p>
      {open && <Question task={task} ask={open} mine={open.asked.includes(self.id)} />}
      {task.failure && (
        <Part title={t("tasks.failure")}>
          <p className="whitespace-pre-wrap break-words text-side">{task.failure.message}</p>
          <p className="mt-1 text-meta text-text-3">
            {task.failure.origin === "platform" ? t("tasks.origin.platform") : t("tasks.origin.tool")}
            {task.failure.transient && ` ${t("tasks.transient")}`}
          </p>
        </Part>
      )}
      {(task.response || task.summary) && (
        <Part title={t("tasks.result")}>
          <p className="whitespace-pre-wrap break-words text-side">{task.response || task.summary}</p>
        </Part>
      )}
      {task.description && (
        <Part title={t("tasks.description")}>
          <p className="whitespace-pre-wrap break-words text-side">{task.description}</p>
        </Part>
      )}
      {task.steps.length > 0 && (
        <Part title={t("tasks.plan")}>
          <ol className="flex list-decimal flex-col gap-1 pl-5 text-side">
            {task.steps.map((s) => (
              <li key={s.id} className="break-words">
                {s.title} <span className="text-meta text-text-3">{stepWords(s.status)}</span>
              </li>
            ))}
          </ol>
        </Part>
      )}
      {task.subtasks.length > 0 && (
        <Part title={t("tasks.subtasks")}>
          <ul className="flex flex-col gap-1">
            {task.subtasks.map((s) => (
              <li key={s.id}>
                <button
                  type="button"
                  onClick={() => onOpen(s.id)}
                  className="ring-inset-focus flex w-full items-start gap-2 rounded-control px-2 py-1 text-left text-side hover:bg-hover"
                >
                  <span className="min-w-0 flex-1 break-words">{[s.title, ...(s.assignees ?? []).map((p) => p.displayName)].join(" · ")}</span>
                  <StateBadge status={s.status} endKind={s.endKind} working={s.working ?? false} />
                </button>
              </li>
            ))}
          </ul>
        </Part>
      )}
      <Actions task={task} onOpen={onOpen} />
      <Part title={t("tasks.history")}>
        <ol className="flex flex-col gap-1 text-meta">
          {task.history.map((e) => (
            <li key={e.id} className="flex gap-2">
              <time dateTime={e.insertedAt} title={exactTime(e.insertedAt)} className="shrink-0 text-text-3 tabular-nums">
                {dateTime(e.insertedAt)}
              </time>
              <span className="min-w-0 break-words text-text-2">
                {eventWords(e.kind)}
                {e.note && <span className="text-text-3"> {e.note}</span>}
              </span>
            </li>
          ))}
        </ol>
      </Part>
    </article>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="mt-5">
      <h3 className="mb-1 font-medium text-[13px] text-text-3">{title}</h3>
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

function Question({ task, ask, mine }: { task: TaskDetail; ask: TaskAsk; mine: boolean }) {
  const t = useT();
  const [text, setText] = useState("");
  const answer = useAnswerTask();
  const send = (value: string) => {
    if (value.trim() !== "") answer.mutate({ id: task.id, askId: ask.id, answer: value });
  };
  return (
    <section aria-label={t("tasks.ask")} className="mt-4 rounded-panel border border-wait-line bg-raised p-4">
      <p className="whitespace-pre-wrap break-words text-body">{ask.question}</p>
      {ask.default && <p className="mt-1 break-words text-meta text-text-3">{t("tasks.ask.default", { value: ask.default })}</p>}
      {mine ? (
        <form
          className="mt-3"
          onSubmit={(e) => {
            e.preventDefault();
            send(text);
          }}
        >
          {ask.options.length > 0 ? (
            <div className="flex flex-wrap gap-2">
              {ask.options.map((o) => (
                <Button
                  key={o}
                  disabled={answer.isPending}
                  onClick={() => send(o)}
                  className="h-auto min-h-8.5 max-w-full whitespace-normal break-words py-1 text-left"
                >
                  {o}
                </Button>
              ))}
            </div>
          ) : (
            <>
              <Field label={t("tasks.ask.answer")}>
                {(control) => <Textarea {...control} maxLength={10_000} value={text} onChange={(e) => setText(e.target.value)} />}
              </Field>
              <Button type="submit" variant="primary" className="mt-3" busy={answer.isPending} disabled={text.trim() === ""}>
                {t("tasks.ask.send")}
              </Button>
            </>
          )}
          <ErrorNote error={answer.error} className="mt-3" />
        </form>
      ) : (
        <p className="mt-2 text-meta text-text-3">{t("tasks.ask.other")}</p>
      )}
    </section>
  );
}

/** What the person may do about it now; the server decides again. */
function Actions({ task, onOpen }: { task: TaskDetail; onOpen: (id: Id) => void }) {
  const t = useT();
  const self = useSelf();
  const navigate = useNavigate();
  const watch = useWatch();
  const status = useSetStatus();
  const [dialog, setDialog] = useState<"cancel" | "interrupt" | "retry" | null>(null);
  const over = ended(task.status);
  const mine = task.assignedTo.includes(self.id) && !task.fanOut;
  const workRoom = task.workConversationId !== task.conversationId ? task.workConversationId : undefined;
  const look = () =>
    watch.mutate(task.id, { onSuccess: () => void navigate({ to: "/rooms/$roomId", params: { roomId: workRoom ?? task.conversationId } }) });
  return (
    <section className="mt-6">
      <div className="flex flex-wrap gap-2">
        {workRoom && (
          <Button busy={watch.isPending} onClick={look}>
            {t("tasks.openRoom")}
          </Button>
        )}
        <Button asChild>
          <Link to="/rooms/$roomId" params={{ roomId: task.conversationId }}>
            {t("tasks.openAsked")}
          </Link>
        </Button>
        {mine && !over && task.status !== "in_progress" && (
          <Button busy={status.isPending} onClick={() => status.mutate({ id: task.id, status: "in_progress" })}>
            {t("tasks.start")}
          </Button>
        )}
        {mine && !over && (
          <Button variant="primary" busy={status.isPending} onClick={() => status.mutate({ id: task.id, status: "complete" })}>
            {t("tasks.complete")}
          </Button>
        )}
        {task.working && <Button onClick={() => setDialog("interrupt")}>{t("tasks.interrupt")}</Button>}
        {over && <Button onClick={() => setDialog("retry")}>{t("tasks.retry")}</Button>}
        {!over && (
          <Button variant="quiet-danger" onClick={() => setDialog("cancel")}>
            {t("tasks.cancel")}
          </Button>
        )}
      </div>
      <ErrorNote error={status.error ?? watch.error} className="mt-3" />
      {dialog === "cancel" && <CancelDialog task={task} onDone={() => setDialog(null)} />}
      {dialog === "interrupt" && <InterruptDialog task={task} onDone={() => setDialog(null)} />}
      {dialog === "retry" && <RetryDialog task={task} onDone={() => setDialog(null)} onOpen={onOpen} />}
    </section>
  );
}

type DialogProps = { task: TaskDetail; onDone: () => void };

function CancelDialog({ task, onDone }: DialogProps) {
  const t = useT();
  const cancel = useCancel();
  return (
    <Dialog
      open
      onOpenChange={(o) => !o && onDone()}
      width="sm"
      title={t("tasks.cancelSure", { title: task.title })}
      description={t("tasks.cancelHint")}
      footer={
        <>
          <Button onClick={onDone}>{t("tasks.keep")}</Button>
          <Button variant="danger" busy={cancel.isPending} onClick={() => cancel.mutate(task.id, { onSuccess: onDone })}>
            {t("tasks.cancel")}
          </Button>
        </>
      }
    >
      <ErrorNote error={cancel.error} />
    </Dialog>
  );
}

function InterruptDialog({ task, onDone }: DialogProps) {
  const t = useT();
  const form = useId();
  const [text, setText] = useState("");
  const interrupt = useInterrupt();
  return (
    <Dialog
      open
      onOpenChange={(o) => !o && onDone()}
      title={t("tasks.interrupt")}
      description={t("tasks.interruptHint")}
      footer={
        <>
          <Button onClick={onDone}>{t("common.cancel")}</Button>
          <Button type="submit" form={form} variant="primary" busy={interrupt.isPending}>
            {t("tasks.interrupt")}
          </Button>
        </>
      }
    >
      <form
        id={form}
        onSubmit={(e) => {
          e.preventDefault();
          interrupt.mutate({ id: task.id, message: text.trim() }, { onSuccess: onDone });
        }}
      >
        <Field label={t("tasks.interruptLabel")}>
          {(control) => <Textarea {...control} maxLength={10_000} value={text} onChange={(e) => setText(e.target.value)} />}
        </Field>
        <ErrorNote error={interrupt.error} className="mt-3" />
      </form>
    </Dialog>
  );
}

function RetryDialog({ task, onDone, onOpen }: DialogProps & { onOpen: (id: Id) => void }) {
  const t = useT();
  const form = useId();
  const [title, setTitle] = useState(task.title);
  const [feedback, setFeedback] = useState("");
  const retry = useRetry();
  const changes = () => ({
    id: task.id,
    ...(title.trim() !== "" && title !== task.title ? { title: title.trim() } : {}),
    ...(feedback.trim() !== "" ? { feedback: feedback.trim() } : {}),
  });
  return (
    <Dialog
      open
      onOpenChange={(o) => !o && onDone()}
      title={t("tasks.retry")}
      description={t("tasks.retryHint")}
      footer={
        <>
          <Button onClick={onDone}>{t("common.cancel")}</Button>
          <Button type="submit" form={form} variant="primary" busy={retry.isPending}>
            {t("tasks.retry")}
          </Button>
        </>
      }
    >
      <form
        id={form}
        className="flex flex-col gap-4"
        onSubmit={(e) => {
          e.preventDefault();
          retry.mutate(changes(), {
            onSuccess: (made) => {
              onDone();
              onOpen(made.id);
            },
          });
        }}
      >
        <Field label={t("tasks.retryTitle")}>
          {(control) => <Input {...control} maxLength={200} value={title} onChange={(e) => setTitle(e.target.value)} />}
        </Field>
        <Field label={t("tasks.retryFeedback")}>
          {(control) => <Textarea {...control} maxLength={10_000} value={feedback} onChange={(e) => setFeedback(e.target.value)} />}
        </Field>
        <ErrorNote error={retry.error} />
      </form>
    </Dialog>
  );
}
