import { Link } from "@tanstack/react-router";
import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import type { AgentHealthDetail } from "#/api/types";
import { Button } from "#/components/ui/button";
import { useT } from "#/i18n";
import { faultWords } from "./faults";
import { useAgentHealth } from "./queries";

export function Trouble({
  code,
  message,
  detail,
  action,
}: {
  code: string;
  message?: string | undefined;
  detail?: string | undefined;
  action?: ReactNode;
}) {
  const words = faultWords(code, message);
  return (
    <div role="alert" className="flex gap-2.5 rounded-control border border-wait-line bg-wait-soft px-3 py-2.5 text-side">
      <TriangleAlert size={16} strokeWidth={1.75} className="mt-0.5 shrink-0 text-wait-text" aria-hidden="true" />
      <div className="min-w-0 flex-1">
        <p className="font-medium text-wait-text">{words.title}</p>
        {words.hint && <p className="mt-0.5 text-text-2">{words.hint}</p>}
        {detail && <p className="mt-1 break-words font-mono text-[13px] text-text-2">{detail}</p>}
        {action && <div className="mt-2">{action}</div>}
      </div>
    </div>
  );
}

/** What keeps an agent from answering, as its bridge found it; nothing when all is well. */
export function Blocker({ health }: { health: AgentHealthDetail }) {
  const t = useT();
  const b = health.blocker;
  if (!b) return null;
  return (
    <Trouble
      code={b.code}
      message={b.message}
      detail={b.detail ?? undefined}
      action={
        b.code === "llm_unauthenticated" && (
          <Button size="sm" asChild>
            <Link to="/settings" search={{ tab: "keys" }}>
              {t("agents.openKeys")}
            </Link>
          </Button>
        )
      }
    />
  );
}

/** The same, for a page that shows nothing else of an agent's health. */
export function AgentBlocker({ agentId }: { agentId: string }) {
  const health = useAgentHealth(agentId);
  return health.data ? <Blocker health={health.data} /> : null;
}
