import type { Id } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { GivenRow, GrantRow } from "./AllowedTab";
import { useGiven, useGrants } from "./queries";

/** What one agent may do without asking, and the secrets it was given: where its tools are chosen. */
export function AgentGrants({ agentId }: { agentId: Id }) {
  const t = useT();
  const grants = useGrants();
  const given = useGiven();
  const own = (grants.data ?? []).filter((g) => g.agentId === agentId);
  const secrets = (given.data ?? []).filter((c) => c.agentId === agentId);
  return (
    <Section title={t("decisions.tab.allowed")} hint={t("decisions.allowed.agentHint")}>
      {grants.isPending ? (
        <Skeleton className="h-16 w-full" />
      ) : !grants.data ? (
        <ErrorNote error={grants.error} onRetry={() => void grants.refetch()} />
      ) : own.length + secrets.length === 0 ? (
        <p className="text-side text-text-2">{t("decisions.allowed.agentNone")}</p>
      ) : (
        <ul className="divide-y divide-line rounded-panel border border-line px-4">
          {own.map((g) => (
            <GrantRow key={g.id} grant={g} ofAgent />
          ))}
          {secrets.map((c) => (
            <GivenRow key={c.id} given={c} ofAgent />
          ))}
        </ul>
      )}
    </Section>
  );
}
