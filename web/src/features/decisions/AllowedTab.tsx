import { ShieldCheck } from "lucide-react";
import { useState } from "react";
import type { ApprovalGrant, CredentialRequest } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { Button } from "#/components/ui/button";
import { Empty, Skeleton } from "#/components/ui/states";
import { toast } from "#/components/ui/toast";
import { t, useT } from "#/i18n";
import { dateTime, exactTime, shortTime } from "#/lib/format";
import { useSelf } from "#/lib/self";
import { grantedLine, visible } from "./lists";
import { useForget, useGiven, useGrants, useRevoke } from "./queries";
import { Exact } from "./WhatRuns";
import { grantWords, toolTitle, usesWords } from "./words";

/** What agents may do without asking, and the secrets that they were given; each can be taken back. */
export function AllowedTab() {
  const t = useT();
  const grants = useGrants();
  const given = useGiven();
  if (grants.isPending) return <Skeleton className="h-24 w-full" />;
  if (!grants.data) return <ErrorNote error={grants.error} onRetry={() => void grants.refetch()} />;
  return (
    <>
      <p className="mb-4 text-side text-text-2">{t("decisions.allowed.hint")}</p>
      {grants.data.length === 0 ? (
        <Empty icon={<ShieldCheck size={28} strokeWidth={1.5} />} title={t("decisions.allowed.none")} hint={t("decisions.allowed.noneHint")} />
      ) : (
        <ul className="mb-6 divide-y divide-line">
          {grants.data.map((g) => (
            <GrantRow key={g.id} grant={g} />
          ))}
        </ul>
      )}
      {(given.data?.length ?? 0) > 0 && (
        <Section title={t("decisions.credential.given")} hint={t("decisions.credential.givenHint")}>
          <ul className="divide-y divide-line">
            {given.data?.map((c) => (
              <GivenRow key={c.id} given={c} />
            ))}
          </ul>
        </Section>
      )}
    </>
  );
}

/** `ofAgent`: shown on the page of the agent, which need not be named. */
export function GrantRow({ grant, ofAgent = false }: { grant: ApprovalGrant; ofAgent?: boolean }) {
  const t = useT();
  const self = useSelf();
  const revoke = useRevoke();
  const by = grant.grantedBy.id === self.id ? "decisions.allowed.byYou" : "decisions.allowed.by";
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 py-3">
      <div className="min-w-0 flex-1 basis-64">
        <p className="break-words text-body">
          {!ofAgent && (
            <>
              <span className="font-medium">{grant.agentName}</span> ·{" "}
            </>
          )}
          {toolTitle(grant)}
          {toolTitle(grant) !== grant.toolName && <span className="ml-1.5 font-mono text-[13px] text-text-3">{visible(grant.toolName)}</span>}
        </p>
        <p className="break-words text-side text-text-2">
          {grantWords(grant)}
          {grant.scopeKind === "any" && ` ${roomWords(grant)}`}
        </p>
        <ExactCall grant={grant} />
        <p className="mt-0.5 text-meta text-text-3">
          <time dateTime={grant.insertedAt} title={exactTime(grant.insertedAt)}>
            {t(by, { name: grant.grantedBy.displayName, time: shortTime(grant.insertedAt) })}
          </time>{" "}
          ·{" "}
          <time dateTime={grant.expiresAt} title={exactTime(grant.expiresAt)}>
            {t("decisions.until", { time: dateTime(grant.expiresAt) })}
          </time>{" "}
          · {usesWords(grant.uses)}
          {grant.lastUsedAt && (
            <>
              {t("decisions.allowed.last")}
              <time dateTime={grant.lastUsedAt} title={exactTime(grant.lastUsedAt)}>
                {shortTime(grant.lastUsedAt)}
              </time>
            </>
          )}
        </p>
        <ErrorNote error={revoke.error} area="decisions" className="mt-2" />
      </div>
      <Button busy={revoke.isPending} onClick={() => said(revoke.mutateAsync(grant.id), t("decisions.allowed.revoked"))}>
        {t("decisions.allowed.revoke")}
      </Button>
    </li>
  );
}

/** Where a grant for a room counts. */
function roomWords(grant: ApprovalGrant): string {
  const room = grant.conversationTitle || grant.agentName;
  return grant.roomGone ? t("decisions.past.roomGone", { room }) : t("decisions.inRoom", { room });
}

/** The one call that an exact grant allows, on one line until it is unfolded. */
function ExactCall({ grant }: { grant: ApprovalGrant }) {
  const t = useT();
  const [open, setOpen] = useState(false);
  if (!grant.action) return null;
  return (
    <>
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="ring-inset-focus -mx-1 block w-full truncate rounded-control px-1 text-left font-mono text-[13px] text-text-2 leading-6 hover:bg-hover"
      >
        {grantedLine(grant)}
      </button>
      {open && (
        <div className="my-1 flex flex-col gap-1">
          <Exact label={t("decisions.exact")} text={grant.action} />
          {grant.actionCut && <p className="text-meta text-text-3">{t("decisions.allowed.cut")}</p>}
        </div>
      )}
    </>
  );
}

export function GivenRow({ given, ofAgent = false }: { given: CredentialRequest; ofAgent?: boolean }) {
  const t = useT();
  const forget = useForget();
  const name = given.agentName ?? "";
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 py-3">
      <div className="min-w-0 flex-1 basis-64">
        <p className="break-words text-body">
          {ofAgent ? (
            given.label
          ) : (
            <>
              <span className="font-medium">{name}</span> · {given.label}
            </>
          )}
        </p>
        <p className="break-all text-meta text-text-3">
          {[given.endpoint, given.fingerprint, usesWords(given.uses ?? 0)].filter(Boolean).join(" · ")}
        </p>
        <ErrorNote error={forget.error} area="decisions" className="mt-2" />
      </div>
      <Button busy={forget.isPending} onClick={() => said(forget.mutateAsync(given.id), t("decisions.credential.forgotten", { name }))}>
        {t("decisions.credential.forget")}
      </Button>
    </li>
  );
}

/** Said also when the row is gone before the answer has come; a failure is shown in the row. */
function said(done: Promise<unknown>, title: string): void {
  void done.then(
    () => toast({ tone: "good", title }),
    () => undefined,
  );
}
