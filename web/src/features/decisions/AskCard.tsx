import { Link } from "@tanstack/react-router";
import { type ReactNode, useId, useState } from "react";
import type { Decision } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Avatar } from "#/components/ui/avatar";
import { Button } from "#/components/ui/button";
import { Field, Textarea } from "#/components/ui/input";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { useNow } from "#/lib/useNow";
import { useAnswer } from "./queries";
import { timeLeft } from "./words";

/** A task waits for an answer: one of its options, or free text. */
export function AskCard({ ask }: { ask: Decision }) {
  const t = useT();
  const id = useId();
  const now = useNow(true);
  const name = ask.agent?.displayName ?? "";
  return (
    <article aria-labelledby={`${id}-title`} className="rounded-panel border border-line bg-raised p-4">
      <header className="flex items-start gap-3">
        <Avatar id={ask.agent?.id ?? ""} name={name} kind="agent" size={36} />
        <div className="min-w-0 flex-1">
          <h2 id={`${id}-title`} className="break-words font-medium text-body">
            {t("decisions.ask.wants", { name })}
          </h2>
          <p className="break-words text-meta text-text-3">
            {[ask.title, ask.expiresAt && timeLeft(ask.expiresAt, now).words].filter(Boolean).join(" · ")}
          </p>
        </div>
      </header>
      <div className="mt-3">
        <AskForm
          ask={ask}
          more={
            ask.conversationId && (
              <Button variant="quiet" asChild>
                <Link to="/rooms/$roomId" params={{ roomId: ask.conversationId }}>
                  {t("decisions.ask.open")}
                </Link>
              </Button>
            )
          }
        />
      </div>
    </article>
  );
}

/** The question itself and the answer to it, wherever it is shown. `more` stands beside the answer. */
export function AskForm({ ask, more }: { ask: Decision; more?: ReactNode }) {
  const t = useT();
  const [text, setText] = useState("");
  const answer = useAnswer();
  const options = ask.options ?? [];
  const send = (value: string) => {
    if (ask.taskId && value.trim() !== "") answer.mutate({ taskId: ask.taskId, askId: ask.sourceId, answer: value });
  };
  return (
    <>
      <p className="whitespace-pre-wrap break-words text-body">{ask.question}</p>
      {ask.defaultValue && <p className="mt-1 break-words text-meta text-text-3">{t("decisions.ask.default", { value: ask.defaultValue })}</p>}
      <form
        className="mt-3"
        onSubmit={(e) => {
          e.preventDefault();
          send(text);
        }}
      >
        {options.length === 0 && (
          <Field label={t("decisions.ask.answer")}>
            {(control) => <Textarea {...control} maxLength={10_000} value={text} onChange={(e) => setText(e.target.value)} />}
          </Field>
        )}
        <ErrorNote error={answer.error} area="decisions" className="my-3" />
        <div className={cx("flex flex-wrap items-center gap-2", options.length === 0 && "mt-3")}>
          {options.map((o) => (
            <Button
              key={o}
              disabled={answer.isPending}
              onClick={() => send(o)}
              className="h-auto min-h-8.5 max-w-full whitespace-normal break-words py-1 text-left"
            >
              {o}
            </Button>
          ))}
          {options.length === 0 && (
            <Button type="submit" variant="primary" busy={answer.isPending} disabled={text.trim() === ""}>
              {t("decisions.ask.send")}
            </Button>
          )}
          {more}
        </div>
      </form>
    </>
  );
}
