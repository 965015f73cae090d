import { Link } from "@tanstack/react-router";
import { ListChecks } from "lucide-react";
import { useT } from "#/i18n";
import { useTaskStep } from "./queries";
import { StateBadge } from "./StateBadge";
import type { cardOf } from "./states";

/** The row of a room that stands for a task, as it is now. */
export function TaskCard({ card }: { card: NonNullable<ReturnType<typeof cardOf>> }) {
  const t = useT();
  const step = useTaskStep(card.id);
  return (
    <div className="px-4 pt-3 pb-1 sm:px-5">
      <Link
        to="/tasks"
        search={{ task: card.id }}
        className="ring-inset-focus ml-11 flex max-w-[720px] items-start gap-2.5 rounded-panel border border-line bg-raised px-3 py-2.5 hover:bg-hover sm:ml-12"
      >
        <ListChecks size={18} strokeWidth={1.75} className="mt-px shrink-0 text-text-3" />
        <span className="min-w-0 flex-1 text-side">
          <span className="block break-words font-medium">{card.title}</span>
          {card.who && <span className="block break-words text-meta text-text-3">{t("tasks.by", { name: card.who })}</span>}
          {(card.failure || card.summary) && (
            <span className="mt-0.5 block whitespace-pre-wrap break-words text-text-2">{card.failure || card.summary}</span>
          )}
          {step && <span className="mt-0.5 block break-words text-meta text-text-2">{t("tasks.now", { step })}</span>}
        </span>
        <StateBadge status={card.status} endKind={card.endKind} />
      </Link>
    </div>
  );
}
