import { Link } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import type { PastDecision } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Button } from "#/components/ui/button";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { clock, dateTime, exactTime } from "#/lib/format";
import { useSelf } from "#/lib/self";
import { diffLines, pretty, visible } from "./lists";
import { outcomeTone, outcomeWords, pastLine, pastTitle, stopWords } from "./past";
import { useForget, useRevoke } from "./queries";
import { Diff, WhatRuns } from "./WhatRuns";
import { scopeWords, usesWords } from "./words";

/** Something that is over: what was asked, what came of it, by whom and when, on two lines; unfolded, all of it. */
export function PastRow({ past }: { past: PastDecision }) {
  const self = useSelf();
  const t = useT();
  const [open, setOpen] = useState(false);
  return (
    <li className="py-2.5">
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="ring-inset-focus flex w-full flex-wrap items-baseline gap-x-3 gap-y-0.5 rounded-control px-1 py-0.5 text-left hover:bg-hover"
      >
        <span className="w-full min-w-0 break-words text-side sm:w-auto sm:flex-1">{pastTitle(past)}</span>
        <span className="flex w-full min-w-0 items-baseline gap-x-3 text-meta sm:w-auto sm:max-w-1/2">
          <span className={cx("min-w-0 break-words", outcomeTone(past.outcome))}>{outcomeWords(past, self.id)}</span>
          <time dateTime={past.endedAt} title={exactTime(past.endedAt)} className="shrink-0 text-text-3">
            {clock(past.endedAt)}
          </time>
        </span>
        {!open && (
          <span className={cx("w-full truncate text-[13px] text-text-2 leading-5", past.kind === "permission_request" && "font-mono")}>
            {pastLine(past)}
          </span>
        )}
      </button>
      {past.request?.outcome === "failed" && <p className="px-1 text-meta text-wait-text">{t("decisions.notResumed")}</p>}
      {open && (
        <div className="mt-2 flex flex-col gap-2 px-1">
          {past.description && <p className="whitespace-pre-wrap break-words text-side text-text-2">{visible(past.description)}</p>}
          <Details past={past} />
          <Places past={past} />
        </div>
      )}
    </li>
  );
}

function Details({ past }: { past: PastDecision }) {
  const t = useT();
  if (past.request) return <Approval past={past} />;
  switch (past.kind) {
    case "member_request":
      return null;
    case "credential_request":
      return <Secret past={past} />;
    case "budget_stop":
      return <p className="text-side">{stopWords(past)}</p>;
    default:
      return (
        <>
          <p className="whitespace-pre-wrap break-words text-side">{past.question}</p>
          {past.answer && <Said label={t("decisions.ask.answer")}>{past.answer}</Said>}
        </>
      );
  }
}

/** What a person said, set apart. */
function Said({ label, children }: { label: string; children: ReactNode }) {
  return (
    <p className="whitespace-pre-wrap break-words border-line-strong border-l-2 pl-3 text-side text-text-2">
      <span className="sr-only">{label}: </span>
      {children}
    </p>
  );
}

function Approval({ past: { request, grant } }: { past: PastDecision }) {
  const t = useT();
  const revoke = useRevoke();
  if (!request) return null;
  const lives = grant && !grant.revokedAt && Date.parse(grant.expiresAt) > Date.now();
  return (
    <>
      {request.decisionText && <Said label={t("decisions.text")}>{visible(request.decisionText)}</Said>}
      {request.editedInput ? (
        <Diff lines={diffLines(pretty(request.toolInput ?? {}), pretty(request.editedInput))} />
      ) : (
        <WhatRuns request={request} />
      )}
      {grant && (
        <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-2 rounded-control bg-sunken px-3 py-2">
          <p className="min-w-0 break-words text-meta text-text-2">
            {scopeWords(request, request.decisionScope ?? "")} · {usesWords(grant.uses)} ·{" "}
            {grant.revokedAt
              ? t("decisions.past.revoked", { time: dateTime(grant.revokedAt) })
              : t(lives ? "decisions.until" : "decisions.past.ended", { time: dateTime(grant.expiresAt) })}
          </p>
          {lives && (
            <Button size="sm" busy={revoke.isPending} onClick={() => revoke.mutate(grant.id)}>
              {t("decisions.allowed.revoke")}
            </Button>
          )}
        </div>
      )}
      <ErrorNote error={revoke.error} area="decisions" />
    </>
  );
}

function Secret({ past }: { past: PastDecision }) {
  const t = useT();
  const forget = useForget();
  const given = past.outcome === "fulfilled";
  const parts = [past.label, past.endpoint, past.fingerprint, given && usesWords(past.uses ?? 0)];
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-x-3 gap-y-2">
        <p className="wrap-anywhere min-w-0 text-side">{parts.filter(Boolean).join(" · ")}</p>
        {given && !past.takenAway && (
          <Button size="sm" busy={forget.isPending} onClick={() => forget.mutate(past.sourceId)}>
            {t("decisions.credential.forget")}
          </Button>
        )}
      </div>
      {past.takenAway && <p className="text-meta text-text-3">{t("decisions.past.takenAway")}</p>}
      <ErrorNote error={forget.error} area="decisions" />
    </>
  );
}

const link = "rounded-control underline-offset-2 hover:text-text hover:underline";

/** Where it was asked: its room, or the name of one that is gone, and its task. */
function Places({ past }: { past: PastDecision }) {
  const t = useT();
  const room = past.conversationTitle || (past.conversationId && past.agent.displayName);
  if (!room && !past.taskId) return null;
  return (
    <p className="flex flex-wrap gap-x-2 break-words text-meta text-text-3">
      {past.conversationId && room ? (
        <Link to="/rooms/$roomId" params={{ roomId: past.conversationId }} className={link}>
          {t("decisions.inRoom", { room })}
        </Link>
      ) : (
        room && <span>{t("decisions.past.roomGone", { room })}</span>
      )}
      {past.taskId && (
        <Link to="/tasks" search={{ task: past.taskId }} className={link}>
          {past.title ? t("decisions.ofTaskNamed", { title: past.title }) : t("decisions.ofTask")}
        </Link>
      )}
    </p>
  );
}
