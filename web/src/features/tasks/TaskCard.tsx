import { Link } from "@tanstack/react-router";
import { ListChecks, Square } from "lucide-react";
import { type ReactNode, useState } from "react";
import { IconButton } from "#/components/ui/button";
import { Tooltip } from "#/components/ui/tooltip";
import { useLocale, useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { elapsed } from "#/lib/format";
import { useTaskStep } from "./queries";
import { StateBadge } from "./StateBadge";
import { type Card, columnOf, ended, failureWords, stateWords, toneOf } from "./states";
import { CancelDialog } from "./TaskActions";

/** The one row of a room that stands for a task, as it is now; `waits` is what the person can answer for it, in place. */
export function TaskCard({ card, waits }: { card: Card; waits?: ReactNode }) {
  const t = useT();
  const step = useTaskStep(card.id);
  const [cancelling, setCancelling] = useState(false);
  const why = card.failure && failureWords(card.failure);
  const over = ended(card.status);
  const tone = toneOf(card.status, card.endKind);
  const lasted = card.seconds !== null && card.seconds > 0 && t("tasks.took", { time: elapsed(card.seconds * 1000) });
  return (
    <section aria-label={t("tasks.card", { title: card.title })} data-row="" tabIndex={-1} className="ring-inset-focus px-4 pt-3 pb-1 sm:px-5">
      <div
        className={cx(
          "max-w-[720px] overflow-hidden rounded-panel border bg-raised sm:ml-12",
          tone === "wait" || (waits && !over) ? "border-wait-line" : tone === "bad" ? "border-bad-line" : "border-line",
        )}
      >
        <div className="flex items-start">
          <Link
            to="/tasks"
            search={{ task: card.id }}
            data-task-card={card.id}
            className="ring-inset-focus flex min-w-0 flex-1 items-start gap-2.5 px-3.5 py-2.5 hover:bg-hover"
          >
            <ListChecks size={18} strokeWidth={1.75} className="mt-px shrink-0 text-text-3" aria-hidden="true" />
            <span className="min-w-0 flex-1 text-side">
              <span className="flex flex-wrap items-start justify-between gap-x-3 gap-y-1">
                <span className="min-w-0 grow basis-40 break-words font-medium">{card.title}</span>
                <StateBadge status={card.status} endKind={card.endKind} working={step !== "" && !over} forYou={Boolean(waits) && !over} />
              </span>
              <span className="mt-0.5 block break-words text-meta text-text-3">
                {[card.who && t("tasks.by", { name: card.who }), lasted].filter(Boolean).join(" · ")}
              </span>
              {why ? (
                <span className="mt-1 block break-words text-bad-text">
                  {why.title}
                  {why.detail && <span className="block text-text-2">{why.detail}</span>}
                </span>
              ) : (
                card.summary && !waits && <span className="mt-1 block whitespace-pre-wrap break-words text-text-2">{card.summary}</span>
              )}
              {step && !over && <span className="mt-1 block break-words text-text-2">{t("tasks.now", { step })}</span>}
            </span>
          </Link>
          {columnOf(card.status) === "working" && (
            <Tooltip content={t("tasks.cancel")}>
              <IconButton label={t("tasks.cancel")} size="sm" className="mt-2 mr-2" onClick={() => setCancelling(true)}>
                <Square size={14} strokeWidth={2} />
              </IconButton>
            </Tooltip>
          )}
        </div>
        {waits && !over && <div className="border-line border-t px-3.5 py-3">{waits}</div>}
      </div>
      {cancelling && <CancelDialog task={card} onDone={() => setCancelling(false)} />}
    </section>
  );
}

/** Where a task came to a stop, far below its card: one line that leads to it. */
export function TaskNote({ card }: { card: Card }) {
  useLocale();
  const words = card.failure ? failureWords(card.failure).title : card.summary || stateWords(card.status, card.endKind);
  return (
    <div
      data-row=""
      tabIndex={-1}
      className="ring-inset-focus mx-auto flex max-w-xl items-start justify-center gap-2 px-6 pt-3 pb-1 text-center text-[13px] leading-5"
    >
      <ListChecks size={14} strokeWidth={1.75} className="mt-[3px] shrink-0 text-text-3" aria-hidden="true" />
      <Link
        to="/tasks"
        search={{ task: card.id }}
        className={cx("min-w-0 break-words rounded-control underline-offset-2 hover:underline", card.failure ? "text-bad-text" : "text-text-2")}
      >
        {card.title}: {words.length > 160 ? `${words.slice(0, 160)}…` : words}
      </Link>
    </div>
  );
}
