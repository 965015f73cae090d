import { Link, useNavigate } from "@tanstack/react-router";
import { ArrowLeft, MessageSquare, Play, Square } from "lucide-react";
import { Tabs } from "radix-ui";
import type { ReactNode } from "react";
import { isApiError } from "#/api/errors";
import type { Agent } from "#/api/types";
import { AgentBadge } from "#/components/AgentBadge";
import { Avatar } from "#/components/ui/avatar";
import { Button } from "#/components/ui/button";
import { Page } from "#/components/ui/page";
import { Empty, ErrorState, Skeleton } from "#/components/ui/states";
import { TabBar } from "#/components/ui/tabs";
import { toast } from "#/components/ui/toast";
import { useT } from "#/i18n";
import { errorWords } from "#/lib/errorText";
import { useSelf } from "#/lib/self";
import { usePresence } from "#/realtime/hooks";
import { CharacterTab } from "./CharacterTab";
import { ManageTab } from "./ManageTab";
import { MemoryTab } from "./MemoryTab";
import { OthersAgent, OverviewTab } from "./OverviewTab";
import { PresenceLine } from "./PresenceLine";
import { useAgent, useDirectRoom, useStop, useWake } from "./queries";
import { ToolsTab } from "./ToolsTab";

export const agentTabs = ["overview", "character", "memory", "tools", "manage"] as const;
export type AgentTab = (typeof agentTabs)[number];

type Props = {
  agentId: string;
  tab: AgentTab;
  onTab: (tab: AgentTab) => void;
  /** The tasks it works at and those that wait. */
  queue?: ReactNode;
  /** What it may do without asking. */
  grants?: ReactNode;
};

export function AgentPage({ agentId, tab, onTab, queue, grants }: Props) {
  const t = useT();
  const agent = useAgent(agentId);
  const self = useSelf();
  if (agent.isPending) return <AgentSkeleton />;
  if (!agent.data) {
    const words = errorWords(agent.error);
    const kind = isApiError(agent.error) ? agent.error.kind : "";
    if (kind === "not_found" || kind === "invalid") {
      return (
        <div className="grid h-full place-items-center">
          <Empty
            title={t("agents.notFound")}
            hint={t("agents.notFoundHint")}
            action={
              <Button variant="primary" asChild>
                <Link to="/agents">{t("agents.backToList")}</Link>
              </Button>
            }
          />
        </div>
      );
    }
    return (
      <div className="grid h-full place-items-center">
        <div>
          <ErrorState
            title={words.title}
            hint={words.hint}
            requestId={words.requestId}
            {...(words.retryable ? { onRetry: () => void agent.refetch() } : {})}
          />
          <div className="flex justify-center">
            <Button asChild>
              <Link to="/agents">{t("agents.backToList")}</Link>
            </Button>
          </div>
        </div>
      </div>
    );
  }
  // Setting up, starting and reading along is for the owner.
  const mine = agent.data.ownerId === self.id;
  return (
    <Page>
      <Header agent={agent.data} mine={mine} />
      {mine ? (
        <Tabs.Root value={tab} onValueChange={(v) => onTab(v as AgentTab)}>
          <TabBar label={t("agents.tabs")} all={agentTabs} value={tab} words={(name) => t(`agents.tab.${name}`)} />
          <Tabs.Content value="overview" className="focus-visible:outline-offset-8">
            <OverviewTab agent={agent.data} onKey={() => onTab("manage")} queue={queue} />
          </Tabs.Content>
          <Tabs.Content value="character" className="focus-visible:outline-offset-8">
            <CharacterTab key={agent.data.id} agent={agent.data} />
          </Tabs.Content>
          <Tabs.Content value="memory" className="focus-visible:outline-offset-8">
            <MemoryTab agent={agent.data} />
          </Tabs.Content>
          <Tabs.Content value="tools" className="focus-visible:outline-offset-8">
            <ToolsTab agent={agent.data} grants={grants} />
          </Tabs.Content>
          <Tabs.Content value="manage" className="focus-visible:outline-offset-8">
            <ManageTab agent={agent.data} />
          </Tabs.Content>
        </Tabs.Root>
      ) : (
        <OthersAgent agent={agent.data} />
      )}
    </Page>
  );
}

function Header({ agent, mine }: { agent: Agent; mine: boolean }) {
  const t = useT();
  const navigate = useNavigate();
  const presence = usePresence(agent.id);
  const direct = useDirectRoom();
  const wake = useWake(agent.id);
  const stop = useStop(agent.id);
  const off = agent.status === "deactivated";
  const failed = (title: string) => (err: unknown) =>
    toast({ tone: "bad", title, detail: [errorWords(err).title, errorWords(err).hint].filter(Boolean).join(". ") });
  return (
    <header className="mb-6">
      <Link to="/agents" className="mb-3 inline-flex items-center gap-1 rounded-control text-side text-text-2 hover:text-text">
        <ArrowLeft size={16} strokeWidth={1.75} aria-hidden="true" />
        {t("agents.title")}
      </Link>
      <div className="flex flex-wrap items-center gap-x-4 gap-y-3">
        <Avatar id={agent.id} name={agent.displayName} kind="agent" src={agent.avatarUrl} size={56} />
        <div className="min-w-0 flex-1 basis-56">
          <h1 className="font-semibold text-head">
            <span className="mr-2 break-words">{agent.displayName}</span>
            <span className="inline-block align-[3px]">
              <AgentBadge />
            </span>
          </h1>
          {off ? <p className="text-side text-text-3">{t("agents.deactivatedLong")}</p> : <PresenceLine agentId={agent.id} long />}
        </div>
        {!off && mine && (
          <div className="flex flex-wrap items-center gap-2">
            <Button
              variant="primary"
              busy={direct.isPending}
              onClick={() =>
                direct.mutate(agent.id, {
                  onSuccess: (room) => void navigate({ to: "/rooms/$roomId", params: { roomId: room.id } }),
                  onError: failed(t("agents.roomFailed")),
                })
              }
            >
              <MessageSquare size={16} strokeWidth={1.75} />
              {t("agents.write")}
            </Button>
            {/* A terminal is started and stopped by whoever sits there. */}
            {agent.runtime === "external" ? null : presence === "away" ? (
              <Button
                busy={wake.isPending}
                onClick={() =>
                  wake.mutate(undefined, {
                    onSuccess: (r) =>
                      toast(
                        r.woken
                          ? { title: t("agents.waking", { name: agent.displayName }) }
                          : { title: t("agents.notWoken"), detail: t("agents.notWokenHint") },
                      ),
                    onError: failed(t("agents.notWoken")),
                  })
                }
              >
                {!wake.isPending && <Play size={16} strokeWidth={1.75} />}
                {t("agents.wake")}
              </Button>
            ) : (
              <Button
                busy={stop.isPending}
                onClick={() =>
                  stop.mutate(undefined, {
                    onSuccess: () => toast({ title: t("agents.stopping", { name: agent.displayName }) }),
                    onError: failed(t("agents.notStopped")),
                  })
                }
              >
                {!stop.isPending && <Square size={13} strokeWidth={2} className="fill-current" />}
                {t("agents.stop")}
              </Button>
            )}
          </div>
        )}
      </div>
    </header>
  );
}

function AgentSkeleton() {
  const t = useT();
  return (
    <div role="status" aria-busy="true" aria-label={t("common.loading")} className="mx-auto w-full max-w-[860px] px-4 pt-14 sm:px-8 sm:pt-16">
      <div className="mb-8 flex items-center gap-4">
        <Skeleton className="size-14 rounded-panel" />
        <div>
          <Skeleton className="mb-2 h-6 w-44" />
          <Skeleton className="h-4 w-28" />
        </div>
      </div>
      <Skeleton className="mb-3 h-9 w-full" />
      <Skeleton className="h-40 w-full" />
    </div>
  );
}
