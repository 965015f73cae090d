import { useState } from "react";
import type { PermissionRequest } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Button } from "#/components/ui/button";
import { Empty, Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { exactTime, shortTime } from "#/lib/format";
import { useSelf } from "#/lib/self";
import { diffLines, pretty } from "./lists";
import { useDecided } from "./queries";
import { Diff, WhatRuns } from "./WhatRuns";
import { stateWords } from "./words";

/** What was decided or ended, newest first; each can be unfolded to exactly what it was. */
export function HistoryTab() {
  const t = useT();
  const decided = useDecided();
  if (decided.isPending) {
    return (
      <div role="status" aria-busy="true" aria-label={t("common.loading")} className="flex flex-col gap-2">
        {[0, 1, 2, 3].map((n) => (
          <Skeleton key={n} className="h-11 w-full" />
        ))}
      </div>
    );
  }
  if (!decided.data) return <ErrorNote error={decided.error} onRetry={() => void decided.refetch()} />;
  const rows = decided.data.pages.flatMap((p) => p.requests);
  if (rows.length === 0) return <Empty title={t("decisions.history.none")} />;
  return (
    <>
      <ul className="divide-y divide-line">
        {rows.map((r) => (
          <Row key={r.id} request={r} />
        ))}
      </ul>
      {decided.hasNextPage && (
        <div className="mt-4 flex justify-center">
          <Button busy={decided.isFetchingNextPage} onClick={() => void decided.fetchNextPage()}>
            {t("decisions.history.more")}
          </Button>
        </div>
      )}
    </>
  );
}

const tone: Record<string, string> = { approved: "text-good-text", edited: "text-good-text", denied: "text-bad-text", expired: "text-wait-text" };

function Row({ request }: { request: PermissionRequest }) {
  const t = useT();
  const self = useSelf();
  const [open, setOpen] = useState(false);
  const state = request.state ?? request.status;
  const who = !request.decidedBy
    ? ""
    : request.decidedBy === self.id
      ? t("decisions.byYou")
      : t("decisions.by", { name: request.decidedByName ?? "" });
  const at = request.decidedAt ?? request.expiresAt;
  return (
    <li className="py-2.5">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="ring-inset-focus flex w-full flex-wrap items-baseline gap-x-3 gap-y-0.5 rounded-control px-1 py-0.5 text-left hover:bg-hover"
      >
        <span className="min-w-0 flex-1 basis-56 break-words text-side">
          {t("decisions.wants", { name: request.agentName ?? "", tool: request.toolName })}
        </span>
        <span className={cx("text-meta", tone[state] ?? "text-text-3")}>{[stateWords(request), who].filter(Boolean).join(" ")}</span>
        <time dateTime={at} title={exactTime(at)} className="text-meta text-text-3">
          {shortTime(at)}
        </time>
      </button>
      {request.outcome === "failed" && <p className="px-1 text-meta text-wait-text">{t("decisions.notResumed")}</p>}
      {open && (
        <div className="mt-2 flex flex-col gap-2 px-1">
          {request.decisionText && <p className="whitespace-pre-wrap break-words text-side text-text-2">{request.decisionText}</p>}
          {request.editedInput ? (
            <Diff lines={diffLines(pretty(request.toolInput ?? {}), pretty(request.editedInput))} />
          ) : (
            <WhatRuns request={request} />
          )}
        </div>
      )}
    </li>
  );
}
