import { ShieldCheck } from "lucide-react";
import type { ApprovalGrant, CredentialRequest } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { Button } from "#/components/ui/button";
import { Empty, Skeleton } from "#/components/ui/states";
import { toast } from "#/components/ui/toast";
import { tn, useT } from "#/i18n";
import { dateTime, exactTime } from "#/lib/format";
import { useForget, useGiven, useGrants, useRevoke } from "./queries";
import { grantWords } from "./words";

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
  const revoke = useRevoke();
  const where = grant.conversationId
    ? grant.conversationTitle
      ? t("decisions.allowed.inRoom", { room: grant.conversationTitle })
      : t("decisions.allowed.thatRoom")
    : t("decisions.allowed.everywhere");
  return (
    <li className="flex flex-wrap items-center gap-x-3 gap-y-2 py-3">
      <div className="min-w-0 flex-1 basis-64">
        <p className="break-words text-body">
          {ofAgent ? (
            grantWords(grant)
          ) : (
            <>
              <span className="font-medium">{grant.agentName}</span> · {grantWords(grant)}
            </>
          )}
        </p>
        <p className="text-meta text-text-3">
          {where} · {tn("decisions.allowed.uses", grant.uses)} ·{" "}
          <time dateTime={grant.expiresAt} title={exactTime(grant.expiresAt)}>
            {t("decisions.until", { time: dateTime(grant.expiresAt) })}
          </time>
        </p>
        <ErrorNote error={revoke.error} area="decisions" className="mt-2" />
      </div>
      <Button
        busy={revoke.isPending}
        onClick={() => revoke.mutate(grant.id, { onSuccess: () => toast({ tone: "good", title: t("decisions.allowed.revoked") }) })}
      >
        {t("decisions.allowed.revoke")}
      </Button>
    </li>
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
          {[given.endpoint, given.fingerprint, tn("decisions.allowed.uses", given.uses ?? 0)].filter(Boolean).join(" · ")}
        </p>
        <ErrorNote error={forget.error} area="decisions" className="mt-2" />
      </div>
      <Button
        busy={forget.isPending}
        onClick={() => forget.mutate(given.id, { onSuccess: () => toast({ tone: "good", title: t("decisions.credential.forgotten", { name }) }) })}
      >
        {t("decisions.credential.forget")}
      </Button>
    </li>
  );
}
