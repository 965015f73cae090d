import { Link } from "@tanstack/react-router";
import { History } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { AnsweredAsk, Id, PermissionRequest } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Button } from "#/components/ui/button";
import { Empty, Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { exactTime, shortTime } from "#/lib/format";
import { useSelf } from "#/lib/self";
import { decidedLine, diffLines, mergePages, oneLine, pretty, visible } from "./lists";
import { useAnswered, useDecided } from "./queries";
import { Diff, WhatRuns } from "./WhatRuns";
import { stateWords } from "./words";

type Entry = { request: PermissionRequest } | { ask: AnsweredAsk };

/** What was decided, answered or ended, newest first; each can be unfolded to exactly what it was. */
export function HistoryTab() {
  const t = useT();
  const decided = useDecided();
  const answered = useAnswered();
  if (decided.isPending || answered.isPending) {
    return (
      <div role="status" aria-busy="true" aria-label={t("common.loading")} className="flex flex-col gap-2">
        {[0, 1, 2, 3].map((n) => (
          <Skeleton key={n} className="h-11 w-full" />
        ))}
      </div>
    );
  }
  const again = () => void Promise.all([decided.refetch(), answered.refetch()]);
  if (!decided.data && !answered.data) return <ErrorNote error={decided.error} onRetry={again} />;
  const requests = (decided.data?.pages ?? []).flatMap((p) => p.requests).map((request) => ({ request }));
  const asks = (answered.data?.pages ?? []).flatMap((p) => p.asks).map((ask) => ({ ask }));
  const rows: Entry[] = mergePages(
    { items: requests, at: (r) => Date.parse(endOf(r.request)), more: decided.hasNextPage },
    { items: asks, at: (k) => Date.parse(k.ask.endedAt), more: answered.hasNextPage },
  );
  const failed = decided.error ?? answered.error;
  if (rows.length === 0 && !failed)
    return <Empty icon={<History size={28} strokeWidth={1.5} />} title={t("decisions.history.none")} hint={t("decisions.history.noneHint")} />;
  return (
    <>
      <ul className="divide-y divide-line">
        {rows.map((r) => ("ask" in r ? <AskRow key={r.ask.id} ask={r.ask} /> : <RequestRow key={r.request.id} request={r.request} />))}
      </ul>
      <ErrorNote error={failed} onRetry={again} className="mt-3" />
      {(decided.hasNextPage || answered.hasNextPage) && (
        <div className="mt-4 flex justify-center">
          <Button
            busy={decided.isFetchingNextPage || answered.isFetchingNextPage}
            onClick={() => {
              if (decided.hasNextPage) void decided.fetchNextPage();
              if (answered.hasNextPage) void answered.fetchNextPage();
            }}
          >
            {t("decisions.history.more")}
          </Button>
        </div>
      )}
    </>
  );
}

const endOf = (r: PermissionRequest) => r.decidedAt ?? r.expiresAt;

const tone: Record<string, string> = { approved: "text-good-text", edited: "text-good-text", denied: "text-bad-text", expired: "text-wait-text" };

type RowProps = {
  title: string;
  /** What it was about, on one line until it is unfolded. */
  line: string;
  code?: boolean;
  state: string;
  words: string;
  at: string;
  note?: ReactNode;
  children: ReactNode;
};

function Row({ title, line, code = false, state, words, at, note, children }: RowProps) {
  const [open, setOpen] = useState(false);
  return (
    <li className="py-2.5">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="ring-inset-focus flex w-full flex-wrap items-baseline gap-x-3 gap-y-0.5 rounded-control px-1 py-0.5 text-left hover:bg-hover"
      >
        <span className="min-w-0 flex-1 basis-56 break-words text-side">{title}</span>
        <span className={cx("min-w-0 break-words text-meta", tone[state] ?? "text-text-3")}>{words}</span>
        <time dateTime={at} title={exactTime(at)} className="text-meta text-text-3">
          {shortTime(at)}
        </time>
        {!open && <span className={cx("w-full truncate text-[13px] text-text-2 leading-5", code && "font-mono")}>{line}</span>}
      </button>
      {note}
      {open && <div className="mt-2 flex flex-col gap-2 px-1">{children}</div>}
    </li>
  );
}

function useBy(): (id: Id | null | undefined, name: string | null | undefined) => string {
  const t = useT();
  const self = useSelf();
  return (id, name) => (!id ? "" : id === self.id ? t("decisions.byYou") : t("decisions.by", { name: name ?? "" }));
}

function RequestRow({ request }: { request: PermissionRequest }) {
  const t = useT();
  const by = useBy();
  return (
    <Row
      title={t("decisions.wants", { name: request.agentName ?? "", tool: visible(request.toolName) })}
      line={decidedLine(request)}
      code
      state={request.state ?? request.status}
      words={[stateWords(request), by(request.decidedBy, request.decidedByName)].filter(Boolean).join(" ")}
      at={endOf(request)}
      note={request.outcome === "failed" && <p className="px-1 text-meta text-wait-text">{t("decisions.notResumed")}</p>}
    >
      {request.decisionText && <p className="whitespace-pre-wrap break-words text-side text-text-2">{request.decisionText}</p>}
      {request.editedInput ? (
        <Diff lines={diffLines(pretty(request.toolInput ?? {}), pretty(request.editedInput))} />
      ) : (
        <WhatRuns request={request} />
      )}
    </Row>
  );
}

function AskRow({ ask }: { ask: AnsweredAsk }) {
  const t = useT();
  const by = useBy();
  const answered = ask.status === "answered";
  return (
    <Row
      title={t("decisions.history.asked", { name: ask.agentName })}
      line={oneLine(ask.answer ? `${ask.question} — ${ask.answer}` : ask.question)}
      state={answered ? "approved" : "expired"}
      words={[t(answered ? "decisions.history.answered" : "decisions.done.expired"), by(ask.answeredBy, ask.answeredByName)]
        .filter(Boolean)
        .join(" ")}
      at={ask.endedAt}
    >
      <p className="whitespace-pre-wrap break-words text-side">{ask.question}</p>
      {ask.answer && (
        <p className="whitespace-pre-wrap break-words border-line-strong border-l-2 pl-3 text-side text-text-2">
          <span className="sr-only">{t("decisions.ask.answer")}: </span>
          {ask.answer}
        </p>
      )}
      <p className="break-words text-meta text-text-3">
        {ask.title} ·{" "}
        <Link to="/tasks" search={{ task: ask.taskId }} className="rounded-control underline-offset-2 hover:text-text hover:underline">
          {t("decisions.history.toTask")}
        </Link>
      </p>
    </Row>
  );
}
