import { type ReactNode, useId, useState } from "react";
import type { Decision } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Avatar } from "#/components/ui/avatar";
import { Button } from "#/components/ui/button";
import { Field, Input } from "#/components/ui/input";
import { useT } from "#/i18n";
import { useNow } from "#/lib/useNow";
import { useMemberDecision, useStopDecision } from "./queries";
import { parseTokens, tokenWords } from "./tokens";
import { timeLeft } from "./words";

function Card({ of, title, meta, children }: { of: Decision; title: string; meta: string; children: ReactNode }) {
  const id = useId();
  const now = useNow(true);
  return (
    <article aria-labelledby={`${id}-title`} className="rounded-panel border border-line bg-raised p-4">
      <header className="flex items-start gap-3">
        <Avatar id={of.agent?.id ?? ""} name={of.agent?.displayName ?? ""} kind="agent" size={36} />
        <div className="min-w-0 flex-1">
          <h2 id={`${id}-title`} className="break-words font-medium text-body">
            {title}
          </h2>
          <p className="break-words text-meta text-text-3">{[meta, of.expiresAt && timeLeft(of.expiresAt, now).words].filter(Boolean).join(" · ")}</p>
        </div>
      </header>
      {children}
    </article>
  );
}

/** An agent wants somebody in a room. */
export function MemberCard({ request }: { request: Decision }) {
  const t = useT();
  const decide = useMemberDecision();
  const say = (yes: boolean) => decide.mutate({ id: request.sourceId, yes });
  return (
    <Card
      of={request}
      title={t("decisions.member.wants", { name: request.agent?.displayName ?? "", who: request.label ?? "" })}
      meta={request.title ?? ""}
    >
      {request.description && <p className="mt-3 whitespace-pre-wrap break-words text-side text-text-2">{request.description}</p>}
      <ErrorNote error={decide.error} area="decisions" className="mt-3" />
      <div className="mt-4 flex flex-wrap gap-2">
        <Button variant="primary" busy={decide.isPending} onClick={() => say(true)}>
          {t("decisions.member.add")}
        </Button>
        <Button disabled={decide.isPending} onClick={() => say(false)}>
          {t("decisions.deny")}
        </Button>
      </div>
    </Card>
  );
}

/** An agent has work and no tokens left today. */
export function BudgetCard({ stop }: { stop: Decision }) {
  const t = useT();
  const decide = useStopDecision();
  const used = stop.used ?? 0;
  const [limit, setLimit] = useState(String(Math.max(used, stop.tokensPerDay ?? 0) * 2));
  const tokens = parseTokens(limit) ?? 0;
  const good = tokens > used;
  return (
    <Card
      of={stop}
      title={t("decisions.budget.stopped", { name: stop.agent?.displayName ?? "" })}
      meta={t("decisions.budget.used", { used: tokenWords(used), limit: tokenWords(stop.tokensPerDay ?? 0) })}
    >
      <Field
        label={t("decisions.budget.limit")}
        className="mt-3 max-w-60"
        error={good ? undefined : t("decisions.budget.more", { used: tokenWords(used) })}
      >
        {(control) => <Input {...control} inputMode="numeric" value={limit} onChange={(e) => setLimit(e.target.value)} />}
      </Field>
      <ErrorNote error={decide.error} area="decisions" className="mt-3" />
      <div className="mt-4 flex flex-wrap gap-2">
        <Button
          variant="primary"
          busy={decide.isPending}
          onClick={() => decide.mutate({ id: stop.sourceId, agentId: stop.agent?.id ?? "", decision: "continue" })}
        >
          {t("decisions.budget.continue")}
        </Button>
        <Button
          disabled={decide.isPending || !good}
          onClick={() => decide.mutate({ id: stop.sourceId, agentId: stop.agent?.id ?? "", decision: "raise", tokensPerDay: tokens })}
        >
          {t("decisions.budget.raise")}
        </Button>
        <Button disabled={decide.isPending} onClick={() => decide.mutate({ id: stop.sourceId, agentId: stop.agent?.id ?? "", decision: "keep" })}>
          {t("decisions.budget.keep")}
        </Button>
      </div>
    </Card>
  );
}
