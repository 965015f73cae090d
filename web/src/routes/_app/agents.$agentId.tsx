import { createFileRoute } from "@tanstack/react-router";
import type { Id } from "#/api/types";
import { AgentPage, type AgentTab, agentTabs } from "#/features/agents/AgentPage";
import { useAgent } from "#/features/agents/queries";
import { AgentGrants } from "#/features/decisions/AgentGrants";
import { DayBudget } from "#/features/decisions/DayBudget";
import { TwoPeople } from "#/features/decisions/TwoPeople";
import { useKnownPeople } from "#/features/rooms/data";
import { PeoplePicker } from "#/features/rooms/PeoplePicker";
import { AgentQueue } from "#/features/tasks/AgentQueue";
import { useT } from "#/i18n";
import { useSelf } from "#/lib/self";

export const Route = createFileRoute("/_app/agents/$agentId")({
  validateSearch: (search: Record<string, unknown>): { tab?: AgentTab } => {
    const tab = agentTabs.find((x) => x === search["tab"]);
    return tab && tab !== "overview" ? { tab } : {};
  },
  component: Page,
});

function Page() {
  const { agentId } = Route.useParams();
  const { tab } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <AgentPage
      key={agentId}
      agentId={agentId}
      tab={tab ?? "overview"}
      queue={<AgentQueue agentId={agentId} />}
      grants={
        <>
          <AgentGrants agentId={agentId} />
          <Deciders agentId={agentId} />
          <DayBudget agentId={agentId} />
        </>
      }
      onTab={(next) => void navigate({ search: next === "overview" ? {} : { tab: next }, replace: true })}
    />
  );
}

function Deciders({ agentId }: { agentId: Id }) {
  const t = useT();
  const self = useSelf();
  const owner = useAgent(agentId).data?.ownerId;
  const people = useKnownPeople(self.id).filter((p) => p.type !== "agent" && p.id !== owner);
  return (
    <TwoPeople
      at={{ kind: "agents", id: agentId }}
      title={t("decisions.rule.title")}
      hint={t("decisions.rule.hint")}
      people={people}
      picker={(props) => <PeoplePicker {...props} people={people} />}
    />
  );
}
