import { Link } from "@tanstack/react-router";
import type { Turn } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Button } from "#/components/ui/button";
import { Skeleton } from "#/components/ui/states";
import { getLocale, useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { exactTime, shortTime } from "#/lib/format";
import { faultWords, outcomeWords } from "./faults";
import { modelLabel } from "./models";
import { useModelCatalog, useTurns } from "./queries";

/** `1.2 s`, `48 s`, `3 min`: short, with one decimal where it matters. */
export function duration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return "–";
  const n = (v: number, digits: number) => new Intl.NumberFormat(getLocale(), { maximumFractionDigits: digits }).format(v);
  if (ms < 10_000) return `${n(ms / 1000, 1)} s`;
  if (ms < 60_000) return `${n(ms / 1000, 0)} s`;
  return `${Math.floor(ms / 60_000)}:${String(Math.floor((ms % 60_000) / 1000)).padStart(2, "0")} min`;
}

export function compact(n: number | null | undefined): string {
  return n === null || n === undefined ? "–" : new Intl.NumberFormat(getLocale(), { notation: "compact", maximumFractionDigits: 1 }).format(n);
}

const tone: Record<string, string> = {
  answered: "text-good-text",
  failed: "text-bad-text",
  expired: "text-bad-text",
  unanswered: "text-wait-text",
  stopped: "text-wait-text",
};

export function TurnsTable({ agentId }: { agentId: string }) {
  const t = useT();
  const turns = useTurns(agentId);
  const catalog = useModelCatalog().data;
  if (turns.isPending) {
    return (
      <div role="status" aria-busy="true" aria-label={t("common.loading")} className="flex flex-col gap-2">
        {[0, 1, 2, 3].map((n) => (
          <Skeleton key={n} className="h-8 w-full" />
        ))}
      </div>
    );
  }
  if (!turns.data) return <ErrorNote error={turns.error} onRetry={() => void turns.refetch()} />;
  const rows = turns.data.pages.flatMap((p) => p.turns);
  if (rows.length === 0) return <p className="text-side text-text-2">{t("agents.noTurns")}</p>;
  return (
    <>
      <table className="w-full border-collapse text-left text-side">
        <thead className="text-meta text-text-3">
          <tr className="border-line border-b">
            <th className="py-1.5 pr-3 font-medium">{t("agents.turn.when")}</th>
            <th className="py-1.5 pr-3 font-medium">{t("agents.turn.outcome")}</th>
            <th className="py-1.5 pr-3 text-right font-medium">{t("agents.turn.duration")}</th>
            <th className="hidden py-1.5 pr-3 text-right font-medium sm:table-cell">{t("agents.turn.tokens")}</th>
            <th className="hidden py-1.5 pr-3 text-right font-medium md:table-cell">{t("agents.turn.tools")}</th>
            <th className="hidden py-1.5 font-medium md:table-cell">{t("agents.turn.model")}</th>
          </tr>
        </thead>
        <tbody className="tabular-nums">
          {rows.map((turn) => (
            <Row key={turn.id} turn={turn} model={modelLabel(catalog, turn.model)} />
          ))}
        </tbody>
      </table>
      {turns.hasNextPage && (
        <Button variant="quiet" className="mt-2" busy={turns.isFetchingNextPage} onClick={() => void turns.fetchNextPage()}>
          {t("agents.moreTurns")}
        </Button>
      )}
      {turns.isError && <ErrorNote error={turns.error} onRetry={() => void turns.fetchNextPage()} className="mt-2" />}
    </>
  );
}

function Row({ turn, model }: { turn: Turn; model: string }) {
  const t = useT();
  const why = turn.errorCode ? faultWords(turn.errorCode, turn.errorMessage ?? undefined).title : "";
  return (
    <tr className="border-line border-b align-top last:border-b-0">
      <td className="py-2 pr-3">
        <Link
          to="/rooms/$roomId"
          params={{ roomId: turn.conversationId }}
          className="whitespace-nowrap text-text underline-offset-2 hover:underline"
          title={exactTime(turn.endedAt)}
        >
          {shortTime(turn.endedAt)}
          <span className="sr-only">, {t("agents.turn.open")}</span>
        </Link>
      </td>
      <td className="py-2 pr-3">
        <span className={cx("font-medium", tone[turn.outcome] ?? "text-text-2")}>{outcomeWords(turn.outcome)}</span>
        {why && <span className="block text-[13px] text-text-2 leading-4.5">{why}</span>}
      </td>
      <td className="whitespace-nowrap py-2 pr-3 text-right">{duration(turn.durationMs)}</td>
      <td
        className="hidden whitespace-nowrap py-2 pr-3 text-right sm:table-cell"
        title={t("agents.turn.tokensExact", { in: turn.inputTokens ?? 0, out: turn.outputTokens ?? 0, cached: turn.cacheReadTokens ?? 0 })}
      >
        {compact(turn.inputTokens)} / {compact(turn.outputTokens)}
      </td>
      <td className="hidden py-2 pr-3 text-right md:table-cell">{turn.toolCalls ?? "–"}</td>
      <td className="hidden max-w-44 truncate py-2 text-text-2 md:table-cell" title={turn.model ?? ""}>
        {model || turn.backend || "–"}
      </td>
    </tr>
  );
}
