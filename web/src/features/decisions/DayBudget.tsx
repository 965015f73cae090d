import { Link } from "@tanstack/react-router";
import { useRef, useState } from "react";
import type { AgentBudget } from "#/api/limits";
import type { Id } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { Button } from "#/components/ui/button";
import { Field, Input } from "#/components/ui/input";
import { Skeleton } from "#/components/ui/states";
import { toast } from "#/components/ui/toast";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { dateTime } from "#/lib/format";
import { useBudget, useSetBudget } from "./limitQueries";
import { MAX_TOKENS, parseTokens, tokenWords } from "./tokens";

/** How many tokens an agent may use in a day of its owner, and how today stands. */
export function DayBudget({ agentId }: { agentId: Id }) {
  const t = useT();
  const budget = useBudget(agentId);
  return (
    <Section title={t("decisions.day.title")} hint={t("decisions.day.hint")}>
      {budget.data !== undefined ? (
        <>
          {budget.data && <Today budget={budget.data} />}
          <Form agentId={agentId} budget={budget.data} />
        </>
      ) : budget.isPending ? (
        <Skeleton className="h-16 w-full" />
      ) : (
        <ErrorNote error={budget.error} onRetry={() => void budget.refetch()} />
      )}
    </Section>
  );
}

function Today({ budget }: { budget: AgentBudget }) {
  const t = useT();
  const { usedToday, tokensPerDay, stopped } = budget;
  const ends = dateTime(budget.dayEndsAt);
  return (
    <div className="mb-4 max-w-xl">
      <p className="text-side tabular-nums">{t("decisions.day.used", { used: tokenWords(usedToday), limit: tokenWords(tokensPerDay) })}</p>
      <div aria-hidden="true" className="mt-1.5 h-1.5 overflow-hidden rounded-full bg-line">
        <div
          className={cx("h-full rounded-full", usedToday < tokensPerDay ? "bg-accent" : "bg-bad")}
          style={{ width: `${Math.min(100, (usedToday / tokensPerDay) * 100)}%` }}
        />
      </div>
      <p className="mt-1.5 text-meta text-text-3">
        {stopped
          ? t("decisions.day.stopped", { time: ends })
          : budget.decision === "continued"
            ? t("decisions.day.continued", { time: ends })
            : t("decisions.day.ends", { time: ends })}{" "}
        {stopped && budget.decision === "pending" && (
          <Link to="/decisions" className="rounded-control text-accent-text underline underline-offset-2">
            {t("decisions.day.decide")}
          </Link>
        )}
      </p>
    </div>
  );
}

function Form({ agentId, budget }: { agentId: Id; budget: AgentBudget | null }) {
  const t = useT();
  const save = useSetBudget(agentId);
  const input = useRef<HTMLInputElement>(null);
  // What was typed and not saved yet; else what the server says is shown.
  const [typed, setTyped] = useState<string | null>(null);
  const text = typed ?? (budget ? String(budget.tokensPerDay) : "");
  const tokens = parseTokens(text);
  const wrong = text.trim() !== "" && tokens === null;
  const low = tokens !== null && budget !== null && tokens !== budget.tokensPerDay && tokens <= budget.usedToday;
  const store = (n: number | null) =>
    save.mutate(n, {
      onSuccess: () => {
        setTyped(null);
        if (n === null) input.current?.focus(); // the button that had it is gone
        toast({ tone: "good", title: n === null ? t("decisions.day.cleared") : t("decisions.day.saved", { n: tokenWords(n) }) });
      },
    });
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        if (tokens === null || tokens === budget?.tokensPerDay || save.isPending) return;
        store(tokens);
      }}
    >
      <Field
        label={t("decisions.budget.limit")}
        className="max-w-60"
        error={wrong ? t("decisions.day.wrong", { max: tokenWords(MAX_TOKENS) }) : undefined}
        hint={low ? t("decisions.day.low") : budget ? undefined : t("decisions.day.none")}
      >
        {(control) => (
          <Input {...control} ref={input} inputMode="numeric" autoComplete="off" value={text} onChange={(e) => setTyped(e.target.value)} />
        )}
      </Field>
      <ErrorNote error={save.error} area="decisions" className="mt-3 max-w-xl" />
      <div className="mt-4 flex flex-wrap gap-2">
        <Button type="submit" variant="primary" busy={save.isPending} disabled={tokens === null || tokens === budget?.tokensPerDay}>
          {t("common.save")}
        </Button>
        {budget && (
          <Button disabled={save.isPending} onClick={() => store(null)}>
            {t("decisions.day.clear")}
          </Button>
        )}
      </div>
    </form>
  );
}
