import { createFileRoute } from "@tanstack/react-router";
import { AgentsPage } from "#/features/agents/AgentsPage";

export const Route = createFileRoute("/_app/agents/")({
  validateSearch: (search: Record<string, unknown>): { create?: boolean } => (search["create"] === true ? { create: true } : {}),
  component: Page,
});

function Page() {
  const { create } = Route.useSearch();
  const navigate = Route.useNavigate();
  return <AgentsPage creating={create === true} onCreating={(open) => void navigate({ search: open ? { create: true } : {}, replace: !open })} />;
}
