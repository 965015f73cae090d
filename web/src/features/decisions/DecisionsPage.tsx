import { Inbox } from "lucide-react";
import { Tabs } from "radix-ui";
import { type RefObject, useEffect, useRef, useState } from "react";
import type { Id } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Page, PageHead } from "#/components/ui/page";
import { Empty, Skeleton } from "#/components/ui/states";
import { TabBar } from "#/components/ui/tabs";
import { useT } from "#/i18n";
import { AllowedTab } from "./AllowedTab";
import { AskCard } from "./AskCard";
import { BudgetCard, MemberCard } from "./ChoiceCard";
import { CredentialCard } from "./CredentialCard";
import { HistoryTab } from "./HistoryTab";
import { step } from "./lists";
import { useAsks, useChoices, useCredentials, usePending } from "./queries";
import { RequestCard, type RequestHandle } from "./RequestCard";

export const decisionTabs = ["waiting", "history", "allowed"] as const;
export type DecisionTab = (typeof decisionTabs)[number];

type Props = { tab: DecisionTab; onTab: (tab: DecisionTab) => void };

/** The inbox of everything that agents ask, what was decided, and what is allowed for good. */
export function DecisionsPage({ tab, onTab }: Props) {
  const t = useT();
  return (
    <Page>
      <PageHead title={t("decisions.title")} hint={t("decisions.hint")} />
      <Tabs.Root value={tab} onValueChange={(v) => onTab(v as DecisionTab)}>
        <TabBar label={t("decisions.tabs")} all={decisionTabs} value={tab} words={(name) => t(`decisions.tab.${name}`)} />
        <Tabs.Content value="waiting" className="focus-visible:outline-offset-8">
          <WaitingTab />
        </Tabs.Content>
        <Tabs.Content value="history" className="focus-visible:outline-offset-8">
          <HistoryTab />
        </Tabs.Content>
        <Tabs.Content value="allowed" className="focus-visible:outline-offset-8">
          <AllowedTab />
        </Tabs.Content>
      </Tabs.Root>
    </Page>
  );
}

function WaitingTab() {
  const t = useT();
  const pending = usePending();
  const credentials = useCredentials();
  const asks = useAsks();
  const choices = useChoices().data ?? [];
  const list = useRef<HTMLDivElement>(null);
  const handle = useRef<RequestHandle>(null);
  const requests = pending.data ?? [];
  const current = useCurrent(
    requests.map((r) => r.id),
    list,
    handle,
  );
  if (pending.isPending) {
    return (
      <div role="status" aria-busy="true" aria-label={t("common.loading")} className="flex flex-col gap-3">
        <Skeleton className="h-44 w-full" />
        <Skeleton className="h-44 w-full" />
      </div>
    );
  }
  if (!pending.data) return <ErrorNote error={pending.error} onRetry={() => void pending.refetch()} />;
  const secrets = credentials.data ?? [];
  const questions = asks.data ?? [];
  if (requests.length + secrets.length + questions.length + choices.length === 0 && !credentials.error && !asks.error) {
    return <Empty icon={<Inbox size={28} strokeWidth={1.5} />} title={t("decisions.none")} hint={t("decisions.noneHint")} />;
  }
  return (
    <div ref={list} className="flex flex-col gap-3">
      {requests.length > 0 && <p className="text-meta text-text-3 coarse:hidden">{t("decisions.keys")}</p>}
      {requests.map((r) => (
        <RequestCard key={r.id} request={r} current={r.id === current} {...(r.id === current ? { handle } : {})} />
      ))}
      {questions.map((q) => (
        <AskCard key={q.id} ask={q} />
      ))}
      {choices.map((c) => (c.kind === "budget_stop" ? <BudgetCard key={c.id} stop={c} /> : <MemberCard key={c.id} request={c} />))}
      {secrets.map((c) => (
        <CredentialCard key={c.id} request={c} />
      ))}
      <ErrorNote error={credentials.error ?? asks.error} onRetry={() => void Promise.all([credentials.refetch(), asks.refetch()])} />
    </div>
  );
}

/** The request in front, and the keys that move and answer. Keys do nothing while somebody types or a dialog is open. */
function useCurrent(ids: readonly Id[], list: RefObject<HTMLDivElement | null>, handle: RefObject<RequestHandle | null>): Id | null {
  const [chosen, setChosen] = useState<Id | null>(null);
  const current = chosen !== null && ids.includes(chosen) ? chosen : (ids[0] ?? null);
  const latest = useRef({ ids, current });
  latest.current = { ids, current };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement | null;
      if (event.defaultPrevented || event.isComposing || event.repeat || event.metaKey || event.ctrlKey || event.altKey || event.shiftKey) return;
      if (target?.closest("input, textarea, select, [contenteditable]") || document.querySelector('[role="dialog"],[role="menu"]')) return;
      const move = (by: 1 | -1) => {
        const next = step(latest.current.ids, latest.current.current, by);
        setChosen(next);
        list.current?.querySelector(`[data-request="${next}"]`)?.scrollIntoView({ block: "nearest" });
      };
      switch (event.key) {
        case "j":
          move(1);
          break;
        case "k":
          move(-1);
          break;
        case "a":
          handle.current?.approve();
          break;
        case "d":
          handle.current?.deny();
          break;
        case "e":
          handle.current?.edit();
          break;
        default:
          return;
      }
      event.preventDefault();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [list, handle]);
  return current;
}
