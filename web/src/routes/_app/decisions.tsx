import { createFileRoute } from "@tanstack/react-router";
import { DecisionsPage, type DecisionTab, decisionTabs } from "#/features/decisions/DecisionsPage";

export const Route = createFileRoute("/_app/decisions")({
  validateSearch: (search: Record<string, unknown>): { tab?: DecisionTab } => {
    const tab = decisionTabs.find((x) => x === search["tab"]);
    return tab && tab !== "waiting" ? { tab } : {};
  },
  component: Page,
});

function Page() {
  const { tab } = Route.useSearch();
  const navigate = Route.useNavigate();
  return <DecisionsPage tab={tab ?? "waiting"} onTab={(next) => void navigate({ search: next === "waiting" ? {} : { tab: next }, replace: true })} />;
}
