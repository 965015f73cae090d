import type { ReactNode } from "react";
import type { AgentTool } from "#/api/tools";
import type { Agent } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { SwitchRow } from "#/components/form/Switch";
import { Skeleton } from "#/components/ui/states";
import { getLocale, useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { exactTime, shortTime } from "#/lib/format";
import { compact, duration } from "./TurnsTable";
import { useAgentTools, useAgentUsage, useChooseTool, useToolCalls } from "./toolQueries";
import { byCategory, categoryKey, toolWords } from "./tools";

export function ToolsTab({ agent, grants }: { agent: Agent; grants?: ReactNode }) {
  const t = useT();
  return (
    <div>
      <Choices agentId={agent.id} />
      {grants}
      <Section title={t("tools.calls")} hint={t("tools.callsHint")}>
        <Calls agentId={agent.id} />
      </Section>
      <Section title={t("tools.cache")} hint={t("tools.cacheHint")}>
        <Cache agentId={agent.id} />
      </Section>
    </div>
  );
}

function Choices({ agentId }: { agentId: string }) {
  const t = useT();
  const list = useAgentTools(agentId);
  const choose = useChooseTool(agentId);
  return (
    <Section title={t("tools.title")} hint={t("tools.hint")}>
      {list.isPending ? (
        <Skeleton className="h-40 w-full" />
      ) : !list.data ? (
        <ErrorNote error={list.error} onRetry={() => void list.refetch()} />
      ) : (
        <div className="flex flex-col gap-5">
          <ErrorNote error={choose.error} />
          {byCategory(list.data).map(([category, tools]) => {
            const key = categoryKey(category);
            return (
              <div key={category}>
                <h3 className="mb-1 font-medium text-meta text-text-3">{key ? t(key) : category}</h3>
                <ul className="divide-y divide-line rounded-panel border border-line px-4">
                  {tools.map((tool) => (
                    <li key={tool.name}>
                      <SwitchRow
                        label={
                          <span className="inline-flex flex-wrap items-baseline gap-x-2">
                            <span className="font-medium">{toolWords(tool).name}</span>
                            <Risk risk={tool.risk} />
                          </span>
                        }
                        hint={
                          <>
                            {toolWords(tool).hint}
                            {tool.essential && <span className="block">{t("tools.essential")}</span>}
                            {tool.allowed && !tool.enabled && <span className="block">{t("tools.notNow")}</span>}
                          </>
                        }
                        checked={tool.allowed ?? false}
                        disabled={tool.essential}
                        onChange={(on) => choose.mutate({ tool: tool.name, on })}
                      />
                    </li>
                  ))}
                </ul>
              </div>
            );
          })}
        </div>
      )}
    </Section>
  );
}

/** Only what asks people is named: a badge on every row would say nothing. */
function Risk({ risk }: { risk: AgentTool["risk"] }) {
  const t = useT();
  if (risk !== "high" && risk !== "critical") return null;
  return (
    <span className="rounded-[4px] bg-wait-soft px-1.5 font-medium text-[12px] text-wait-text leading-5">
      {t(risk === "high" ? "tools.risk.high" : "tools.risk.critical")}
    </span>
  );
}

const tone: Record<string, string> = { done: "text-good-text", refused: "text-wait-text", failed: "text-bad-text", timed_out: "text-bad-text" };

function Calls({ agentId }: { agentId: string }) {
  const t = useT();
  const calls = useToolCalls(agentId);
  if (calls.isPending) return <Skeleton className="h-24 w-full" />;
  if (!calls.data) return <ErrorNote error={calls.error} onRetry={() => void calls.refetch()} />;
  if (calls.data.length === 0) return <p className="text-side text-text-3">{t("tools.noCalls")}</p>;
  return (
    <ul className="divide-y divide-line rounded-panel border border-line">
      {calls.data.map((c) => (
        <li key={c.id} className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5 px-4 py-2 text-side">
          <span className="min-w-0 break-words">{toolWords({ name: c.tool, displayName: "", description: "" }).name}</span>
          <span className={cx("font-medium", tone[c.outcome])}>{t(`tools.outcome.${c.outcome}`)}</span>
          {c.code && <code className="break-all font-mono text-[13px] text-text-3">{c.code}</code>}
          {c.untrusted && <span className="text-meta text-text-3">{t("tools.untrusted")}</span>}
          <span className="ml-auto flex flex-wrap items-baseline gap-x-3 text-meta text-text-3">
            {c.personName && <span>{t("tools.for", { name: c.personName })}</span>}
            <span className="tabular-nums">{duration(c.durationMs)}</span>
            <time dateTime={c.insertedAt} title={exactTime(c.insertedAt)}>
              {shortTime(c.insertedAt)}
            </time>
          </span>
        </li>
      ))}
    </ul>
  );
}

function Cache({ agentId }: { agentId: string }) {
  const t = useT();
  const usage = useAgentUsage(agentId);
  if (usage.isPending) return <Skeleton className="h-16 w-full" />;
  if (!usage.data) return <ErrorNote error={usage.error} onRetry={() => void usage.refetch()} />;
  const u = usage.data;
  const percent =
    u.cacheHitRate === null ? "–" : new Intl.NumberFormat(getLocale(), { style: "percent", maximumFractionDigits: 0 }).format(u.cacheHitRate);
  const cells = [
    { label: t("tools.cache.hits"), value: percent },
    { label: t("tools.cache.calls"), value: compact(u.requests) },
    { label: t("tools.cache.input"), value: compact(u.inputTokens + u.cacheReadInputTokens + u.cacheCreationInputTokens) },
    { label: t("tools.cache.output"), value: compact(u.outputTokens) },
  ];
  const part = u.stableParts[0];
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
      {part && (
        <p className="mt-2 text-meta text-text-3">
          {t("tools.cache.part", { time: shortTime(part.since) })} <code className="font-mono">{part.hash.slice(0, 12)}</code>
        </p>
      )}
    </>
  );
}
