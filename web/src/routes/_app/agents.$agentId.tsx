import { createFileRoute } from "@tanstack/react-router";
import { AgentPage, type AgentTab, agentTabs } from "#/features/agents/AgentPage";
import { AgentGrants } from "#/features/decisions/AgentGrants";
import { AgentQueue } from "#/features/tasks/AgentQueue";

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
      grants={<AgentGrants agentId={agentId} />}
      onTab={(next) => void navigate({ search: next === "overview" ? {} : { tab: next }, replace: true })}
    />
  );
}
