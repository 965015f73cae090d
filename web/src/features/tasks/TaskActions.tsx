import { Link, useNavigate } from "@tanstack/react-router";
import { Eye, MessageSquare, RotateCw } from "lucide-react";
import { useState } from "react";
import type { Id, TaskDetail } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { FormDialog } from "#/components/form/FormDialog";
import { Select } from "#/components/form/Select";
import { Button } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Field, Input, Textarea } from "#/components/ui/input";
import { useT } from "#/i18n";
import { useSelf } from "#/lib/self";
import { useCancel, useCandidates, useInterrupt, useReassign, useRetry, useSetStatus, useWatch } from "./queries";
import { ended } from "./states";

/** What the person may do about it now; the server decides again. */
export function TaskActions({ task, onOpen }: { task: TaskDetail; onOpen: (id: Id) => void }) {
  const t = useT();
  const self = useSelf();
  const navigate = useNavigate();
  const watch = useWatch();
  const status = useSetStatus();
  const [dialog, setDialog] = useState<"cancel" | "interrupt" | "reassign" | "retry" | null>(null);
  const over = ended(task.status);
  const mine = task.assignedTo.includes(self.id) && !task.fanOut;
  const workRoom = task.workConversationId !== task.conversationId ? task.workConversationId : undefined;
  const look = () =>
    watch.mutate(task.id, { onSuccess: () => void navigate({ to: "/rooms/$roomId", params: { roomId: workRoom ?? task.conversationId } }) });
  return (
    <section className="mt-6">
      <div className="flex flex-wrap gap-2">
        {mine && !over && (
          <Button variant="primary" busy={status.isPending} onClick={() => status.mutate({ id: task.id, status: "complete" })}>
            {t("tasks.complete")}
          </Button>
        )}
        {mine && !over && task.status !== "in_progress" && (
          <Button busy={status.isPending} onClick={() => status.mutate({ id: task.id, status: "in_progress" })}>
            {t("tasks.start")}
          </Button>
        )}
        {over && (
          <Button variant={task.status === "complete" && task.endKind !== "empty" ? "secondary" : "primary"} onClick={() => setDialog("retry")}>
            <RotateCw size={16} strokeWidth={1.75} aria-hidden="true" />
            {t("tasks.retry")}
          </Button>
        )}
        {task.working && <Button onClick={() => setDialog("interrupt")}>{t("tasks.interrupt")}</Button>}
        {!over && !task.fanOut && <Button onClick={() => setDialog("reassign")}>{t("tasks.reassign")}</Button>}
        {!over && (
          <Button variant="quiet-danger" onClick={() => setDialog("cancel")}>
            {t("tasks.cancel")}
          </Button>
        )}
      </div>
      <div className="-ml-2.5 mt-2 flex flex-wrap gap-x-1">
        {workRoom && (
          <Button size="sm" variant="quiet" busy={watch.isPending} onClick={look}>
            <Eye size={16} strokeWidth={1.75} aria-hidden="true" />
            {t("tasks.openRoom")}
          </Button>
        )}
        <Button size="sm" variant="quiet" asChild>
          <Link to="/rooms/$roomId" params={{ roomId: task.conversationId }}>
            <MessageSquare size={16} strokeWidth={1.75} aria-hidden="true" />
            {t("tasks.openAsked")}
          </Link>
        </Button>
      </div>
      <ErrorNote error={status.error ?? watch.error} className="mt-3" />
      {dialog === "cancel" && <CancelDialog task={task} onDone={() => setDialog(null)} />}
      {dialog === "interrupt" && <InterruptDialog task={task} onDone={() => setDialog(null)} />}
      {dialog === "reassign" && <ReassignDialog task={task} onDone={() => setDialog(null)} />}
      {dialog === "retry" && <RetryDialog task={task} onDone={() => setDialog(null)} onOpen={onOpen} />}
    </section>
  );
}

type DialogProps = { task: TaskDetail; onDone: () => void };

export function CancelDialog({ task, onDone }: { task: { id: Id; title: string }; onDone: () => void }) {
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
  const [text, setText] = useState("");
  const interrupt = useInterrupt();
  return (
    <FormDialog
      title={t("tasks.interrupt")}
      description={t("tasks.interruptHint")}
      busy={interrupt.isPending}
      onSubmit={() => {
        interrupt.mutate({ id: task.id, message: text.trim() }, { onSuccess: onDone });
      }}
      onClose={onDone}
    >
      <Field label={t("tasks.interruptLabel")}>
        {(control) => <Textarea {...control} maxLength={10_000} value={text} onChange={(e) => setText(e.target.value)} />}
      </Field>
      <ErrorNote error={interrupt.error} className="mt-3" />
    </FormDialog>
  );
}

function ReassignDialog({ task, onDone }: DialogProps) {
  const t = useT();
  const others = useCandidates(task.conversationId).filter((c) => !task.assignedTo.includes(c.id));
  const [chosen, setChosen] = useState("");
  const reassign = useReassign();
  const who = chosen || others[0]?.id || "";
  return (
    <FormDialog
      title={t("tasks.reassign")}
      description={t("tasks.reassignHint")}
      action={t("tasks.reassignDo")}
      width="sm"
      busy={reassign.isPending}
      disabled={who === ""}
      onSubmit={() => {
        if (who) reassign.mutate({ id: task.id, who }, { onSuccess: onDone });
      }}
      onClose={onDone}
    >
      {others.length === 0 ? (
        <p className="text-side text-text-2">{t("tasks.reassignNobody")}</p>
      ) : (
        <Field label={t("tasks.newAgent")}>
          {(control) => (
            <Select {...control} value={who} onChange={(e) => setChosen(e.target.value)}>
              {others.map((c) => (
                <option key={c.id} value={c.id}>
                  {c.agent ? c.name : t("tasks.person", { name: c.name })}
                </option>
              ))}
            </Select>
          )}
        </Field>
      )}
      <ErrorNote error={reassign.error} area="tasks" className="mt-3" />
    </FormDialog>
  );
}

function RetryDialog({ task, onDone, onOpen }: DialogProps & { onOpen: (id: Id) => void }) {
  const t = useT();
  const [title, setTitle] = useState(task.title);
  const [description, setDescription] = useState(task.description ?? "");
  const [feedback, setFeedback] = useState("");
  const [who, setWho] = useState("same");
  const others = useCandidates(task.conversationId).filter((c) => !(task.assignedTo.length === 1 && task.assignedTo[0] === c.id));
  const retry = useRetry();
  const before = (task.assignees ?? []).map((p) => p.displayName).join(", ");
  const changes = () => ({
    id: task.id,
    ...(title.trim() !== "" && title.trim() !== task.title ? { title: title.trim() } : {}),
    ...(description.trim() !== (task.description ?? "").trim() ? { description: description.trim() } : {}),
    ...(who !== "same" ? { assignedTo: [who] } : {}),
    ...(feedback.trim() !== "" ? { feedback: feedback.trim() } : {}),
  });
  return (
    <FormDialog
      title={t("tasks.retry")}
      description={t("tasks.retryHint")}
      busy={retry.isPending}
      onSubmit={() => {
        retry.mutate(changes(), {
          onSuccess: (made) => {
            onDone();
            onOpen(made.id);
          },
        });
      }}
      onClose={onDone}
    >
      <Field label={t("tasks.retryFeedback")} hint={t("tasks.retryFeedbackHint")}>
        {(control) => <Textarea {...control} maxLength={10_000} value={feedback} onChange={(e) => setFeedback(e.target.value)} />}
      </Field>
      <Field label={t("tasks.retryTitle")}>
        {(control) => <Input {...control} maxLength={200} value={title} onChange={(e) => setTitle(e.target.value)} />}
      </Field>
      <Field label={t("tasks.description")}>
        {(control) => <Textarea {...control} maxLength={20_000} value={description} onChange={(e) => setDescription(e.target.value)} />}
      </Field>
      <Field label={t("tasks.newAgent")}>
        {(control) => (
          <Select {...control} value={who} onChange={(e) => setWho(e.target.value)}>
            <option value="same">{t("tasks.retrySame", { name: before })}</option>
            {others.map((c) => (
              <option key={c.id} value={c.id}>
                {c.agent ? c.name : t("tasks.person", { name: c.name })}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <ErrorNote error={retry.error} area="tasks" />
    </FormDialog>
  );
}
