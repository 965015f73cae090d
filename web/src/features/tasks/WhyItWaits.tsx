import { Hourglass } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { Id, TaskAsk, TaskDetail } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Button } from "#/components/ui/button";
import { Field, Textarea } from "#/components/ui/input";
import { useT } from "#/i18n";
import { dateTime, nameList } from "#/lib/format";
import { useSelf } from "#/lib/self";
import { usePresence, usePresenceKnown } from "#/realtime/hooks";
import { useAnswerTask, useCandidates, useTask } from "./queries";
import { StateBadge } from "./StateBadge";
import { columnOf, ended, joinWords } from "./states";

type Props = { task: TaskDetail; onOpen: (id: Id) => void; requests: ReactNode };

/** What a task waits for, answered where it is said when the person can answer it. */
export function WhyItWaits({ task, onOpen, requests }: Props) {
  const self = useSelf();
  if (ended(task.status)) return null;
  const open = task.asks.find((a) => a.status === "open");
  const mine = open?.asked.includes(self.id) ?? false;
  return (
    <>
      {open && !(mine && open.approvalId) && <Question task={task} ask={open} mine={mine} />}
      {requests}
      {!open && <Reason task={task} />}
      {(task.dependsOn?.length ?? 0) > 0 && columnOf(task.status) === "waiting" && <Dependencies ids={task.dependsOn ?? []} onOpen={onOpen} />}
    </>
  );
}

/** One line for what no answer of this person can change. */
function Reason({ task }: { task: TaskDetail }) {
  const t = useT();
  const agent = (task.assignees ?? []).find((p) => p.type === "agent");
  const asleep = usePresence(agent?.id ?? "") === "away";
  const known = usePresenceKnown();
  const parts = task.subtasks.filter((s) => !ended(s.status));
  let words = "";
  if (task.retryAt) words = t("tasks.retryAt", { time: dateTime(task.retryAt) });
  else if (columnOf(task.status) === "parked" && parts.length > 0) words = t("tasks.waits.parts", { state: joinWords(task.join, task.subtasks) });
  else if (task.status === "pending" && agent && known && asleep && !(task.dependsOn?.length ?? 0))
    words = t("tasks.waits.asleep", { name: agent.displayName });
  if (!words) return null;
  return (
    <p className="mt-3 flex items-start gap-2 rounded-panel border border-wait-line bg-wait-soft px-3.5 py-2.5 text-side text-wait-text">
      <Hourglass size={16} strokeWidth={1.75} aria-hidden="true" className="mt-0.5 shrink-0" />
      <span className="min-w-0 break-words">{words}</span>
    </p>
  );
}

const SHOWN = 5;

function Dependencies({ ids, onOpen }: { ids: readonly Id[]; onOpen: (id: Id) => void }) {
  const t = useT();
  return (
    <section className="mt-4">
      <h3 className="mb-1.5 font-medium text-[13px] text-text-3">{t("tasks.waits.first")}</h3>
      <ul className="divide-y divide-line overflow-hidden rounded-panel border border-line">
        {ids.slice(0, SHOWN).map((id) => (
          <Dependency key={id} id={id} onOpen={onOpen} />
        ))}
      </ul>
      {ids.length > SHOWN && <p className="mt-1 text-meta text-text-3">{t("tasks.waits.more", { n: ids.length - SHOWN })}</p>}
    </section>
  );
}

function Dependency({ id, onOpen }: { id: Id; onOpen: (id: Id) => void }) {
  const t = useT();
  const task = useTask(id);
  return (
    <li>
      <button
        type="button"
        onClick={() => onOpen(id)}
        className="ring-inset-focus flex w-full items-start gap-2 bg-raised px-3 py-2 text-left text-side hover:bg-hover"
      >
        <span className="min-w-0 flex-1 break-words">{task.data?.title ?? t("tasks.waits.task")}</span>
        {task.data && <StateBadge status={task.data.status} endKind={task.data.endKind} working={task.data.working ?? false} />}
      </button>
    </li>
  );
}

function Question({ task, ask, mine }: { task: TaskDetail; ask: TaskAsk; mine: boolean }) {
  const t = useT();
  const [text, setText] = useState("");
  const answer = useAnswerTask();
  const send = (value: string) => {
    if (value.trim() !== "") answer.mutate({ id: task.id, askId: ask.id, answer: value });
  };
  return (
    <section aria-label={t("tasks.ask")} className="mt-4 rounded-panel border border-wait-line bg-wait-soft p-4">
      <p className="whitespace-pre-wrap break-words text-body">{ask.question}</p>
      {ask.default && <p className="mt-1 break-words text-meta text-text-2">{t("tasks.ask.default", { value: ask.default })}</p>}
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
              <Field label={ask.field || t("tasks.ask.answer")}>
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
        <OthersAsked task={task} ask={ask} />
      )}
    </section>
  );
}

/** Who is to answer, by name where the room tells. */
function OthersAsked({ task, ask }: { task: TaskDetail; ask: TaskAsk }) {
  const t = useT();
  const known = useCandidates(task.conversationId);
  const names = ask.asked.map((id) => known.find((c) => c.id === id)?.name).filter((n) => n !== undefined);
  return <p className="mt-2 text-meta text-text-2">{names.length > 0 ? t("tasks.ask.others", { names: nameList(names) }) : t("tasks.ask.other")}</p>;
}
