import { createFileRoute } from "@tanstack/react-router";
import { AgentBlocker } from "#/features/agents/Trouble";
import { GuidePage } from "#/features/guide/GuidePage";

export const Route = createFileRoute("/_app/welcome")({
  validateSearch: (search: Record<string, unknown>): { agent?: string } => (typeof search["agent"] === "string" ? { agent: search["agent"] } : {}),
  component: Page,
});

function Page() {
  const { agent } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <GuidePage
      agent={agent}
      onAgent={(next) => void navigate({ search: next ? { agent: next } : {} })}
      blocker={(id) => <AgentBlocker agentId={id} />}
    />
  );
}
