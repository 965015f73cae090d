import { History } from "lucide-react";
import type { PastDecision } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Button } from "#/components/ui/button";
import { Empty, Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { dayKey, dayLabel } from "#/lib/format";
import { PastRow } from "./PastRow";
import { usePast } from "./queries";

/** What was decided, answered or ended, newest first, by days; each can be unfolded to exactly what it was. */
export function HistoryTab() {
  const t = useT();
  const past = usePast();
  if (past.isPending) {
    return (
      <div role="status" aria-busy="true" aria-label={t("common.loading")} className="flex flex-col gap-2">
        {[0, 1, 2, 3].map((n) => (
          <Skeleton key={n} className="h-11 w-full" />
        ))}
      </div>
    );
  }
  const retry = () => void past.refetch();
  if (!past.data) return <ErrorNote error={past.error} onRetry={retry} />;
  const days = byDay(past.data.pages.flatMap((p) => p.decisions));
  if (days.length === 0 && !past.error)
    return <Empty icon={<History size={28} strokeWidth={1.5} />} title={t("decisions.history.none")} hint={t("decisions.history.noneHint")} />;
  return (
    <>
      {days.map(([first, ...rest]) => (
        <section key={first.id} aria-label={dayLabel(first.endedAt)} className="mb-5">
          <h2 className="mb-1 px-1 font-medium text-[13px] text-text-3">{dayLabel(first.endedAt)}</h2>
          <ul className="divide-y divide-line">
            {[first, ...rest].map((d) => (
              <PastRow key={d.id} past={d} />
            ))}
          </ul>
        </section>
      ))}
      <ErrorNote error={past.error} onRetry={retry} className="mt-3" />
      {past.hasNextPage && (
        <div className="mt-4 flex justify-center">
          <Button busy={past.isFetchingNextPage} onClick={() => void past.fetchNextPage()}>
            {t("decisions.history.more")}
          </Button>
        </div>
      )}
    </>
  );
}

type Day = [PastDecision, ...PastDecision[]];

function byDay(list: readonly PastDecision[]): Day[] {
  const days: Day[] = [];
  for (const d of list) {
    const last = days[days.length - 1];
    if (last && dayKey(last[0].endedAt) === dayKey(d.endedAt)) last.push(d);
    else days.push([d]);
  }
  return days;
}
