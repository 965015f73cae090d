import { Link } from "@tanstack/react-router";
import { Bot, Plus, TerminalSquare, TriangleAlert } from "lucide-react";
import { useState } from "react";
import type { Agent, AgentHealth, ExternalSession } from "#/api/types";
import { Avatar } from "#/components/ui/avatar";
import { Button } from "#/components/ui/button";
import { Page, PageHead } from "#/components/ui/page";
import { Empty, ErrorState, Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { errorWords } from "#/lib/errorText";
import { shortTime } from "#/lib/format";
import { useSelf } from "#/lib/self";
import { stateText, toolName, whereText } from "#/lib/terminal";
import { usePresence } from "#/realtime/hooks";
import { ConnectTerminalDialog } from "./ConnectTerminal";
import { CreateAgentDialog } from "./CreateAgentDialog";
import { faultWords } from "./faults";
import { backendLabel, modelLabel } from "./models";
import { PresenceLine } from "./PresenceLine";
import { useAgentList, useAgentsHealth, useModelCatalog } from "./queries";
import { SessionList } from "./SessionList";

export function AgentsPage({ creating, onCreating }: { creating: boolean; onCreating: (open: boolean) => void }) {
  const t = useT();
  const list = useAgentList();
  const health = useAgentsHealth();
  const [showGone, setShowGone] = useState(false);
  const external = useSelf().features?.["external_agents"] === true;
  const [connecting, setConnecting] = useState(false);
  const all = list.data ?? [];
  const active = all.filter((a) => a.status !== "deactivated");
  const gone = all.filter((a) => a.status === "deactivated");
  const byId = new Map(health.data?.map((h) => [h.agentId, h]));
  return (
    <Page>
      <PageHead
        title={t("agents.title")}
        hint={t("agents.hint")}
        actions={
          <>
            {external && (
              <Button onClick={() => setConnecting(true)}>
                <TerminalSquare size={16} strokeWidth={1.75} />
                {t("terminal.connect")}
              </Button>
            )}
            {(list.isPending || active.length > 0) && (
              <Button variant="primary" onClick={() => onCreating(true)}>
                <Plus size={16} strokeWidth={1.75} />
                {t("agents.create")}
              </Button>
            )}
          </>
        }
      />
      {list.isPending ? (
        <div aria-busy="true" role="status" aria-label={t("common.loading")} className="flex flex-col gap-2">
          {[0, 1, 2].map((n) => (
            <div key={n} className="flex items-center gap-3.5 rounded-panel border border-line px-4 py-3.5">
              <Skeleton className="size-10 rounded-panel" />
              <div className="flex-1">
                <Skeleton className="mb-2 h-4 w-32" />
                <Skeleton className="h-3.5 w-56" />
              </div>
            </div>
          ))}
        </div>
      ) : list.isError && !list.data ? (
        <ErrorState
          title={errorWords(list.error).title}
          hint={errorWords(list.error).hint}
          requestId={errorWords(list.error).requestId}
          onRetry={() => void list.refetch()}
        />
      ) : active.length === 0 ? (
        <Empty
          icon={<Bot size={28} strokeWidth={1.5} />}
          title={t("agents.none")}
          hint={t("agents.noneHint")}
          action={
            <Button variant="primary" asChild>
              <Link to="/welcome">{t("agents.noneAction")}</Link>
            </Button>
          }
        />
      ) : (
        <ul className="flex flex-col gap-2">
          {active.map((a) => (
            <AgentCard key={a.id} agent={a} health={byId.get(a.id)} />
          ))}
        </ul>
      )}
      {external && (
        <div className="mt-8">
          <SessionList title={t("terminal.all")} hint={t("terminal.allHint")} />
        </div>
      )}
      {gone.length > 0 && (
        <div className="mt-8">
          <Button variant="quiet" size="sm" aria-expanded={showGone} onClick={() => setShowGone(!showGone)}>
            {t("agents.deactivatedCount", { n: gone.length })}
          </Button>
          {showGone && (
            <ul className="mt-2 flex flex-col gap-2">
              {gone.map((a) => (
                <AgentCard key={a.id} agent={a} health={undefined} />
              ))}
            </ul>
          )}
        </div>
      )}
      {connecting && <ConnectTerminalDialog open onOpenChange={setConnecting} />}
      <CreateAgentDialog open={creating} onOpenChange={onCreating} />
    </Page>
  );
}

/** An agent that somebody drives in a terminal is known by what its session does. */
function sessionWords(s: ExternalSession): string {
  return [toolName(s.tool), stateText(s.state), whereText(s)].filter(Boolean).join(" · ");
}

function AgentCard({ agent, health }: { agent: Agent; health: AgentHealth | undefined }) {
  const t = useT();
  const catalog = useModelCatalog().data;
  const presence = usePresence(agent.id);
  const off = agent.status === "deactivated";
  const backend = backendLabel(catalog, agent.modelConfig?.backend);
  const model = modelLabel(catalog, agent.modelConfig?.model);
  const trouble = health?.blocker
    ? faultWords(health.blocker.code, health.blocker.message)
    : health?.healthStatus === "stuck"
      ? faultWords("stuck")
      : null;
  return (
    <li>
      <Link
        to="/agents/$agentId"
        params={{ agentId: agent.id }}
        className="flex items-center gap-3.5 rounded-panel border border-line bg-raised px-4 py-3 transition-colors hover:bg-hover [--presence-halo:var(--raised)]"
      >
        <Avatar id={agent.id} name={agent.displayName} kind="agent" src={agent.avatarUrl} size={40} presence={off ? undefined : presence} />
        <span className="min-w-0 flex-1">
          <span className="flex items-baseline gap-2">
            <span className="truncate font-medium text-body">{agent.displayName}</span>
            {(backend || model) && (
              <span className="hidden min-w-0 truncate text-meta text-text-3 sm:inline">{[backend, model].filter(Boolean).join(" · ")}</span>
            )}
          </span>
          <span className="block truncate text-side text-text-2">
            {agent.externalSession ? sessionWords(agent.externalSession) : agent.description || t("agents.noRole")}
          </span>
          {trouble && !off && (
            <span className="mt-1 flex items-center gap-1.5 text-side text-wait-text">
              <TriangleAlert size={14} strokeWidth={1.75} className="shrink-0" aria-hidden="true" />
              <span className="truncate">{trouble.title}</span>
            </span>
          )}
        </span>
        <span className="hidden max-w-44 shrink-0 flex-col items-end gap-0.5 sm:flex">
          {off ? <span className="text-side text-text-3">{t("agents.deactivated")}</span> : <PresenceLine agentId={agent.id} />}
          {presence === "away" && agent.lastActiveAt && (
            <span className="text-meta text-text-3">{t("agents.lastActive", { time: shortTime(agent.lastActiveAt) })}</span>
          )}
        </span>
      </Link>
    </li>
  );
}
