import type { ReactNode } from "react";
import { serverOrigin } from "#/api/client";
import type { Agent, AgentHealthDetail } from "#/api/types";
import { BridgeSteps } from "#/components/BridgeSteps";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { Button } from "#/components/ui/button";
import { Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { exactTime, shortTime } from "#/lib/format";
import { useAgentDevice, usePresence, usePresenceKnown } from "#/realtime/hooks";
import { useStore } from "#/realtime/store";
import { faultWords } from "./faults";
import { freshKeys } from "./freshKeys";
import { LetterSection } from "./LetterSection";
import { useAgentHealth, useUnstick } from "./queries";
import { SessionSection } from "./SessionSection";
import { Blocker, Trouble } from "./Trouble";
import { TurnsTable } from "./TurnsTable";

export function OverviewTab({ agent, onKey, queue }: { agent: Agent; onKey: () => void; queue?: ReactNode }) {
  const t = useT();
  const presence = usePresence(agent.id);
  const known = usePresenceKnown();
  const device = useAgentDevice(agent.id);
  const key = useStore(freshKeys, (m) => m.get(agent.id));
  const online = presence !== "away";
  const off = agent.status === "deactivated";
  const where = device ? device.nickname || device.name : undefined;
  const own = agent.runtime === "external";
  const setup = !own && !off && known && (!online || key !== undefined);
  return (
    <div>
      {setup && (
        <Section title={t("agents.bridge.title", { name: agent.displayName })} hint={t("agents.bridge.hint")}>
          <BridgeSteps origin={serverOrigin()} agentId={agent.id} name={agent.displayName} apiKey={key} online={online} device={where} />
          {!key && (
            <Button variant="quiet" size="sm" className="mt-3 -ml-2.5" onClick={onKey}>
              {t("agents.bridge.lostKey")}
            </Button>
          )}
        </Section>
      )}
      {own ? <SessionSection agent={agent} /> : <HealthSection agent={agent} />}
      {!off && queue}
      <LetterSection agent={agent} />
      {/* What a session in a terminal does is no turn of a bridge. */}
      {!own && (
        <Section title={t("agents.turns")} hint={t("agents.turnsHint")}>
          <TurnsTable agentId={agent.id} />
        </Section>
      )}
    </div>
  );
}

/** What there is to see of somebody else's agent: how to reach it, and what it did in rooms that one shares with it. */
export function OthersAgent({ agent }: { agent: Agent }) {
  const t = useT();
  return (
    <div>
      {agent.description && <p className="mb-3 max-w-[65ch] whitespace-pre-wrap break-words">{agent.description}</p>}
      <p className="mb-8 text-pretty text-side text-text-2">{t("agents.others")}</p>
      <LetterSection agent={agent} />
      {agent.runtime !== "external" && (
        <Section title={t("agents.turns")} hint={t("agents.turnsHint")}>
          <TurnsTable agentId={agent.id} />
        </Section>
      )}
    </div>
  );
}

function HealthSection({ agent }: { agent: Agent }) {
  const t = useT();
  const health = useAgentHealth(agent.id);
  const unstick = useUnstick(agent.id);
  if (agent.status === "deactivated") return null;
  const h = health.data;
  return (
    <Section title={t("agents.health")}>
      {health.isPending ? (
        <Skeleton className="h-16 w-full" />
      ) : !h ? (
        <ErrorNote error={health.error} onRetry={() => void health.refetch()} />
      ) : (
        <div className="flex flex-col gap-4">
          <Blocker health={h} />
          {h.healthStatus === "stuck" && (
            <Trouble
              code="stuck"
              action={
                <Button size="sm" busy={unstick.isPending} onClick={() => unstick.mutate()}>
                  {t("agents.unstick")}
                </Button>
              }
            />
          )}
          <ErrorNote error={unstick.error} />
          <Numbers health={h} />
          <Faults health={h} />
        </div>
      )}
    </Section>
  );
}

function Numbers({ health }: { health: AgentHealthDetail }) {
  const t = useT();
  const cells: { label: string; value: string }[] = [
    { label: t("agents.health.state"), value: t(`agents.health.${health.healthStatus}`) },
    { label: t("agents.health.bridges"), value: `${health.onlineExecutorCount} / ${health.executorCount}` },
    { label: t("agents.health.waiting"), value: String(health.queuedMessages) },
    { label: t("agents.health.working"), value: String(health.unackedMessages?.length ?? 0) },
  ];
  return (
    <>
      <dl className="grid grid-cols-2 gap-px overflow-hidden rounded-panel border border-line bg-line sm:grid-cols-4">
        {cells.map((c) => (
          <div key={c.label} className="bg-raised px-3.5 py-2.5">
            <dt className="text-meta text-text-3">{c.label}</dt>
            <dd className="mt-0.5 font-medium text-body tabular-nums">{c.value}</dd>
          </div>
        ))}
      </dl>
      {health.executors.length > 0 && (
        <ul className="flex flex-col gap-1.5 text-side">
          {health.executors.map((e) => (
            <li key={e.id} className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5">
              <span className="font-medium">{e.deviceName || e.displayName || e.executorKey}</span>
              <span className="text-text-2">{e.status === "online" ? t("presence.here") : t("presence.away")}</span>
              {e.bridgeVersion && <span className="text-meta text-text-3">agnt {e.bridgeVersion}</span>}
              {e.lastPollAt && <span className="text-meta text-text-3">{t("agents.health.lastSeen", { time: shortTime(e.lastPollAt) })}</span>}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Faults({ health }: { health: AgentHealthDetail }) {
  const t = useT();
  const faults = health.faults ?? [];
  if (faults.length === 0) return null;
  return (
    <details>
      <summary className="w-fit text-side text-text-2 underline-offset-2 hover:underline">{t("agents.faults", { n: faults.length })}</summary>
      <ul className="mt-2 flex flex-col gap-2.5 border-line border-l pl-4">
        {faults.slice(0, 20).map((f) => {
          const words = faultWords(f.kind);
          return (
            <li key={f.id} className="text-side">
              <p className="flex flex-wrap items-baseline gap-x-2">
                <span className="font-medium">{words.title}</span>
                <time dateTime={f.insertedAt} title={exactTime(f.insertedAt)} className="text-meta text-text-3">
                  {shortTime(f.insertedAt)}
                </time>
              </p>
              {f.detail && <p className="break-words text-text-2">{f.detail}</p>}
            </li>
          );
        })}
      </ul>
    </details>
  );
}
