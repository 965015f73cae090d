import { type Ref, useImperativeHandle, useRef, useState } from "react";
import type { Decision } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Button } from "#/components/ui/button";
import { Field, Textarea } from "#/components/ui/input";
import { Kbd } from "#/components/ui/kbd";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { Card, type CardHandle } from "./Card";
import { useAnswer } from "./queries";

type Props = { ask: Decision; current?: boolean; handle?: Ref<CardHandle> };

/** A task waits for an answer: one of its options, or free text. */
export function AskCard({ ask, current = false, handle }: Props) {
  const t = useT();
  const name = ask.agent?.displayName ?? "";
  return (
    <Card
      id={ask.sourceId}
      agent={{ id: ask.agent?.id ?? "", name }}
      title={t("decisions.ask.wants", { name })}
      room={ask.conversationId ? { id: ask.conversationId, title: ask.conversationTitle ?? null } : undefined}
      task={ask.taskId ? { id: ask.taskId, title: ask.title } : undefined}
      expiresAt={ask.expiresAt}
      current={current}
    >
      <div className="mt-3">
        <AskForm ask={ask} numbered={current} {...(handle ? { handle } : {})} />
      </div>
    </Card>
  );
}

type FormProps = {
  ask: Decision;
  /** Its options show the keys that take them. */
  numbered?: boolean;
  handle?: Ref<CardHandle>;
};

/** The question itself and the answer to it, wherever it is shown. */
export function AskForm({ ask, numbered = false, handle }: FormProps) {
  const t = useT();
  const [text, setText] = useState("");
  const answer = useAnswer();
  const field = useRef<HTMLTextAreaElement>(null);
  const options = ask.options ?? [];
  const send = (value: string | undefined) => {
    if (ask.taskId && value?.trim() && !answer.isPending) answer.mutate({ taskId: ask.taskId, askId: ask.sourceId, answer: value });
  };
  const write = () => field.current?.focus();
  useImperativeHandle(handle, () => (options.length > 0 ? { pick: (n) => send(options[n]) } : { yes: write, change: write }));
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
          <Field label={ask.field || t("decisions.ask.answer")}>
            {(control) => (
              <Textarea
                {...control}
                ref={field}
                maxLength={10_000}
                value={text}
                onChange={(e) => setText(e.target.value)}
                onKeyDown={(e) => {
                  if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && !e.nativeEvent.isComposing) send(text);
                }}
              />
            )}
          </Field>
        )}
        <ErrorNote error={answer.error} area="decisions" className="my-3" />
        <div className={cx("flex flex-wrap items-center gap-2", options.length === 0 && "mt-3")}>
          {options.map((o, n) => (
            <Button
              key={o}
              disabled={answer.isPending}
              onClick={() => send(o)}
              className="h-auto min-h-8.5 max-w-full shrink whitespace-normal break-words py-1 text-left"
            >
              {numbered && n < 9 && (
                <span aria-hidden="true" className="coarse:hidden">
                  <Kbd keys={[String(n + 1)]} />
                </span>
              )}
              <span className="min-w-0">{o}</span>
            </Button>
          ))}
          {options.length === 0 && (
            <Button type="submit" variant="primary" busy={answer.isPending} disabled={text.trim() === ""}>
              {t("decisions.ask.send")}
            </Button>
          )}
        </div>
      </form>
    </>
  );
}
