import { type Ref, useImperativeHandle, useRef, useState } from "react";
import type { Decision } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Button } from "#/components/ui/button";
import { Field, Input } from "#/components/ui/input";
import { useT } from "#/i18n";
import { Card, type CardHandle } from "./Card";
import { useMemberDecision, useStopDecision } from "./queries";
import { parseTokens, tokenWords } from "./tokens";

type MemberProps = {
  request: Decision;
  current?: boolean;
  /** Where it is shown beside its room, the room need not be named. */
  inRoom?: boolean;
  handle?: Ref<CardHandle>;
};

/** An agent wants somebody in a room. */
export function MemberCard({ request, current = false, inRoom = false, handle }: MemberProps) {
  const t = useT();
  const decide = useMemberDecision();
  const name = request.agent?.displayName ?? "";
  const say = (yes: boolean) => {
    if (!decide.isPending) decide.mutate({ id: request.sourceId, yes });
  };
  useImperativeHandle(handle, () => ({ yes: () => say(true), no: () => say(false) }));
  return (
    <Card
      id={request.sourceId}
      agent={{ id: request.agent?.id ?? "", name }}
      title={t("decisions.member.wants", { name, who: request.label ?? "" })}
      room={!inRoom && request.conversationId ? { id: request.conversationId, title: request.title ?? null } : undefined}
      task={request.taskId ? { id: request.taskId } : undefined}
      expiresAt={request.expiresAt}
      current={current}
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

type StopProps = { stop: Decision; current?: boolean; handle?: Ref<CardHandle> };

/** An agent has work and no tokens left today. */
export function BudgetCard({ stop, current = false, handle }: StopProps) {
  const t = useT();
  const decide = useStopDecision();
  const field = useRef<HTMLInputElement>(null);
  const used = stop.used ?? 0;
  const [limit, setLimit] = useState(tokenWords(Math.max(used, stop.tokensPerDay ?? 0) * 2));
  const tokens = parseTokens(limit) ?? 0;
  const good = tokens > used;
  const agentId = stop.agent?.id ?? "";
  const name = stop.agent?.displayName ?? "";
  const say = (verdict: { decision: "continue" | "keep" } | { decision: "raise"; tokensPerDay: number }) => {
    if (!decide.isPending) decide.mutate({ id: stop.sourceId, agentId, ...verdict });
  };
  useImperativeHandle(handle, () => ({
    yes: () => say({ decision: "continue" }),
    no: () => say({ decision: "keep" }),
    change: () => field.current?.focus(),
  }));
  return (
    <Card
      id={stop.sourceId}
      agent={{ id: agentId, name }}
      title={t("decisions.budget.stopped", { name })}
      meta={t("decisions.budget.used", { used: tokenWords(used), limit: tokenWords(stop.tokensPerDay ?? 0) })}
      expiresAt={stop.expiresAt}
      current={current}
    >
      <p className="mt-3 text-side text-text-2">{t("decisions.budget.hint")}</p>
      <ErrorNote error={decide.error} area="decisions" className="mt-3" />
      <div className="mt-4 flex flex-wrap gap-2">
        <Button variant="primary" busy={decide.isPending} onClick={() => say({ decision: "continue" })}>
          {t("decisions.budget.continue")}
        </Button>
        <Button disabled={decide.isPending} onClick={() => say({ decision: "keep" })}>
          {t("decisions.budget.keep")}
        </Button>
      </div>
      <form
        className="mt-4 border-line border-t pt-3"
        onSubmit={(e) => {
          e.preventDefault();
          if (good) say({ decision: "raise", tokensPerDay: tokens });
        }}
      >
        <Field label={t("decisions.budget.limit")} error={good ? undefined : t("decisions.budget.more", { used: tokenWords(used) })}>
          {(control) => (
            <div className="flex flex-wrap gap-2">
              <Input {...control} ref={field} inputMode="numeric" value={limit} onChange={(e) => setLimit(e.target.value)} className="max-w-44" />
              <Button type="submit" disabled={decide.isPending || !good}>
                {t("decisions.budget.raise")}
              </Button>
            </div>
          )}
        </Field>
      </form>
    </Card>
  );
}
