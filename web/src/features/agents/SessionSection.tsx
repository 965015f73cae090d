import { Link } from "@tanstack/react-router";
import type { Agent } from "#/api/types";
import { Section } from "#/components/form/Section";
import { Button } from "#/components/ui/button";
import { useT } from "#/i18n";
import { exactTime, shortTime } from "#/lib/format";
import { countText, isLive, stateText, toolName, whereText } from "#/lib/terminal";
import { InviteForm } from "./ConnectTerminal";
import { SessionList } from "./SessionList";

/** What the agent's CLI session does, and how to connect a tool when none does. */
export function SessionSection({ agent }: { agent: Agent }) {
  const t = useT();
  const s = agent.externalSession;
  const live = isLive(s);
  return (
    <>
      {s && (
        <Section
          title={t("terminal.session")}
          action={
            s.dmConversationId && (
              <Button size="sm" asChild>
                <Link to="/rooms/$roomId" params={{ roomId: s.dmConversationId }}>
                  {t("terminal.openRoom")}
                </Link>
              </Button>
            )
          }
        >
          <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-5 gap-y-1.5 text-side">
            <dt className="text-text-3">{t("agents.health.state")}</dt>
            <dd>
              {toolName(s.tool)}, {stateText(s.state)}
            </dd>
            {whereText(s) && (
              <>
                <dt className="text-text-3">{t("terminal.where")}</dt>
                <dd className="break-words">{whereText(s)}</dd>
              </>
            )}
            <dt className="text-text-3">{t("terminal.did")}</dt>
            <dd className="tabular-nums">{countText(s.stats)}</dd>
            <dt className="text-text-3">{t("terminal.last")}</dt>
            <dd>
              <time dateTime={s.lastEventAt} title={exactTime(s.lastEventAt)}>
                {shortTime(s.lastEventAt)}
              </time>
            </dd>
          </dl>
        </Section>
      )}
      <SessionList agentId={agent.id} except={s?.dmConversationId ?? null} title={t(s ? "terminal.others" : "terminal.all")} />
      {!live && agent.status !== "deactivated" && (
        <Section title={t("terminal.again")} hint={t("terminal.againHint")}>
          <InviteForm agent={agent} />
        </Section>
      )}
    </>
  );
}
