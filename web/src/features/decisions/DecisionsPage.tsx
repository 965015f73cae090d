import { Inbox } from "lucide-react";
import { Tabs } from "radix-ui";
import { type Ref, type RefObject, useCallback, useEffect, useRef, useState } from "react";
import type { Id, PastDecision } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Page, PageHead } from "#/components/ui/page";
import { Empty, Skeleton } from "#/components/ui/states";
import { TabBar } from "#/components/ui/tabs";
import { useT } from "#/i18n";
import { useSelf } from "#/lib/self";
import { AllowedTab } from "./AllowedTab";
import { AskCard } from "./AskCard";
import type { CardHandle } from "./Card";
import { BudgetCard, MemberCard } from "./ChoiceCard";
import { CredentialCard } from "./CredentialCard";
import { HistoryTab } from "./HistoryTab";
import { heir, step } from "./lists";
import { PastRow } from "./PastRow";
import { usePast, useWaiting, type Waiting } from "./queries";
import { RequestCard } from "./RequestCard";

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
  const { items, isPending, error, retry } = useWaiting();
  const list = useRef<HTMLDivElement>(null);
  const handle = useRef<CardHandle>(null);
  const current = useCurrent(
    items.map((w) => w.id),
    list,
    handle,
  );
  const done = useDecidedHere();
  if (isPending) {
    return (
      <div role="status" aria-busy="true" aria-label={t("common.loading")} className="flex flex-col gap-3">
        <Skeleton className="h-44 w-full" />
        <Skeleton className="h-44 w-full" />
      </div>
    );
  }
  return (
    <>
      {items.length > 0 && <p className="mb-3 text-meta text-text-3 coarse:hidden">{t("decisions.keys")}</p>}
      <div ref={list} className="flex flex-col gap-3">
        {items.map((w) => (
          <WaitingCard key={w.id} waiting={w} current={w.id === current} {...(w.id === current ? { handle } : {})} />
        ))}
      </div>
      {items.length === 0 && !error && (
        <Empty icon={<Inbox size={28} strokeWidth={1.5} />} title={t("decisions.none")} hint={t("decisions.noneHint")} />
      )}
      <ErrorNote error={error} onRetry={retry} className="mt-3" />
      {done.length > 0 && (
        <section aria-labelledby="decided-here" className="mt-6">
          <h2 id="decided-here" className="mb-1 px-1 font-medium text-[13px] text-text-3">
            {t("decisions.justDecided")}
          </h2>
          <ul className="divide-y divide-line">
            {done.map((d) => (
              <PastRow key={d.id} past={d} />
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

function WaitingCard({ waiting, ...rest }: { waiting: Waiting; current: boolean; handle?: Ref<CardHandle> }) {
  switch (waiting.kind) {
    case "request":
      return <RequestCard request={waiting.request} {...rest} />;
    case "ask":
      return <AskCard ask={waiting.decision} {...rest} />;
    case "member":
      return <MemberCard request={waiting.decision} {...rest} />;
    case "stop":
      return <BudgetCard stop={waiting.decision} {...rest} />;
    case "secret":
      return <CredentialCard request={waiting.secret} {...rest} />;
  }
}

/** What the person decided since this page was opened, so that nothing vanishes without a trace. */
function useDecidedHere(): PastDecision[] {
  const self = useSelf();
  const past = usePast();
  const [seen] = useState<{ ids: Set<string> | null }>({ ids: null });
  const all = past.data?.pages[0]?.decisions;
  // What was over when the page was opened; no clock of another machine is asked.
  if (all && !seen.ids) seen.ids = new Set(all.map((d) => d.id));
  return all?.filter((d) => d.decidedBy?.id === self.id && !seen.ids?.has(d.id)).slice(0, 5) ?? [];
}

/**
 * The card in front, and the keys that move and answer. Keys do nothing while somebody types or a dialog is open. It stays in front whatever comes
 * before it: an answer must not go to a card that came in this moment.
 */
function useCurrent(ids: readonly Id[], list: RefObject<HTMLDivElement | null>, handle: RefObject<CardHandle | null>): Id | null {
  const [chosen, setChosen] = useState<Id | null>(null);
  const before = useRef<readonly Id[]>([]);
  const inside = useRef(false);
  const current = heir(before.current, ids, chosen);
  const latest = useRef({ ids, current });
  latest.current = { ids, current };
  const show = useCallback(
    (id: Id | null) => {
      const card = list.current?.querySelector<HTMLElement>(`[data-request="${id}"]`);
      card?.focus({ preventScroll: true });
      card?.scrollIntoView({ block: "nearest" });
    },
    [list],
  );
  useEffect(() => {
    before.current = ids;
    if (current === chosen) return;
    setChosen(current);
    // The focus was in the card that is gone.
    if (inside.current && document.activeElement === document.body) show(current);
  });
  useEffect(() => {
    const onFocus = (event: FocusEvent) => {
      const card = (event.target as HTMLElement).closest<HTMLElement>("[data-request]");
      inside.current = Boolean(card && list.current?.contains(card));
      if (inside.current && card) setChosen(card.dataset["request"] ?? null);
    };
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement | null;
      if (event.defaultPrevented || event.isComposing || event.repeat || event.metaKey || event.ctrlKey || event.altKey || event.shiftKey) return;
      if (document.querySelector('[role="dialog"],[role="menu"]')) return;
      if (target?.closest("input, textarea, select, [contenteditable]")) {
        if (event.key !== "Escape" || !list.current?.contains(target)) return;
        event.preventDefault();
        show(latest.current.current); // out of the field, and the keys act again
        return;
      }
      switch (event.key) {
        case "j":
          show(step(latest.current.ids, latest.current.current, 1));
          break;
        case "k":
          show(step(latest.current.ids, latest.current.current, -1));
          break;
        case "a":
          handle.current?.yes?.();
          break;
        case "d":
          handle.current?.no?.();
          break;
        case "e":
          handle.current?.change?.();
          break;
        default:
          if (!/^[1-9]$/.test(event.key) || !handle.current?.pick) return;
          handle.current.pick(Number(event.key) - 1);
      }
      event.preventDefault();
    };
    document.addEventListener("focusin", onFocus);
    window.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("focusin", onFocus);
      window.removeEventListener("keydown", onKey);
    };
  }, [list, handle, show]);
  return current;
}
