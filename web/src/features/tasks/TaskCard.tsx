import { Link } from "@tanstack/react-router";
import { ListChecks } from "lucide-react";
import type { ReactNode } from "react";
import { Button } from "#/components/ui/button";
import { toast } from "#/components/ui/toast";
import { useLocale, useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { errorLine } from "#/lib/errorLine";
import { elapsed } from "#/lib/format";
import { useCancel, useTaskStep } from "./queries";
import { StateBadge } from "./StateBadge";
import { type Card, columnOf, ended, failureWords, toneOf } from "./states";

/** The one row of a room that stands for a task, as it is now; `waits` is what the person can answer for it, in place. */
export function TaskCard({ card, waits }: { card: Card; waits?: ReactNode }) {
  const t = useT();
  const step = useTaskStep(card.id);
  const cancel = useCancel();
  const why = card.failure && failureWords(card.failure);
  const tone = toneOf(card.status, card.endKind);
  const asks = columnOf(card.status) === "parked";
  return (
    <section aria-label={t("tasks.card", { title: card.title })} data-row="" tabIndex={-1} className="ring-inset-focus px-4 pt-3 pb-1 sm:px-5">
      <div
        className={cx(
          "ml-11 max-w-[720px] overflow-hidden rounded-panel border bg-raised sm:ml-12",
          tone === "wait" ? "border-wait-line" : tone === "bad" ? "border-bad-line" : "border-line",
        )}
      >
        <Link
          to="/tasks"
          search={{ task: card.id }}
          data-task-card={card.id}
          className="ring-inset-focus flex items-start gap-2.5 px-3.5 py-2.5 hover:bg-hover"
        >
          <ListChecks size={18} strokeWidth={1.75} className="mt-px shrink-0 text-text-3" aria-hidden="true" />
          <span className="min-w-0 flex-1 text-side">
            <span className="block break-words font-medium">{card.title}</span>
            <span className="block break-words text-meta text-text-3">
              {[card.who && t("tasks.by", { name: card.who }), card.seconds !== null && t("tasks.took", { time: elapsed(card.seconds * 1000) })]
                .filter(Boolean)
                .join(" · ")}
            </span>
            {why ? (
              <span className="mt-1 block break-words text-bad-text">
                {why.title}
                {why.detail && <span className="block text-text-2">{why.detail}</span>}
              </span>
            ) : (
              card.summary && !(asks && waits) && <span className="mt-1 block whitespace-pre-wrap break-words text-text-2">{card.summary}</span>
            )}
            {step && !ended(card.status) && <span className="mt-1 block break-words text-meta text-text-2">{t("tasks.now", { step })}</span>}
          </span>
          <StateBadge
            status={card.status}
            endKind={card.endKind}
            working={step !== "" && !ended(card.status)}
            forYou={Boolean(waits) && !ended(card.status)}
          />
        </Link>
        {waits && <div className="border-line border-t px-3.5 py-3">{waits}</div>}
        {columnOf(card.status) === "working" && (
          <div className="flex justify-end border-line border-t px-2 py-1">
            <Button
              size="sm"
              variant="quiet-danger"
              busy={cancel.isPending}
              onClick={() => cancel.mutate(card.id, { onError: (e) => toast({ tone: "bad", title: t("tasks.notCancelled"), detail: errorLine(e) }) })}
            >
              {t("tasks.cancel")}
            </Button>
          </div>
        )}
      </div>
    </section>
  );
}

/** Where a task came to a stop, far below its card: one line that leads to it. */
export function TaskNote({ card }: { card: Card }) {
  useLocale();
  const words = card.failure ? failureWords(card.failure).title : card.summary;
  return (
    <div data-row="" tabIndex={-1} className="ring-inset-focus mx-auto max-w-xl px-6 pt-3 pb-1 text-center text-[13px] leading-5">
      <Link to="/tasks" search={{ task: card.id }} className="inline rounded-control text-text-2 underline-offset-2 hover:underline">
        <span className="font-medium">{card.title}</span>
        {words && <span className="break-words">: {words.length > 160 ? `${words.slice(0, 160)}…` : words}</span>}
      </Link>{" "}
      <StateBadge status={card.status} endKind={card.endKind} />
    </div>
  );
}
