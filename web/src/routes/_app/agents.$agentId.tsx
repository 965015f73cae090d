import { createFileRoute } from "@tanstack/react-router";
import { AgentPage, type AgentTab, agentTabs } from "#/features/agents/AgentPage";

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
      onTab={(next) => void navigate({ search: next === "overview" ? {} : { tab: next }, replace: true })}
    />
  );
}
