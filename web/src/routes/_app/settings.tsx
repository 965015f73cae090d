import { createFileRoute } from "@tanstack/react-router";
import { SettingsPage, type SettingsTab, settingsTabs } from "#/features/profile/SettingsPage";

export const Route = createFileRoute("/_app/settings")({
  validateSearch: (search: Record<string, unknown>): { tab?: SettingsTab } => {
    const tab = settingsTabs.find((x) => x === search["tab"]);
    return tab ? { tab } : {};
  },
  component: Page,
});

function Page() {
  const { tab } = Route.useSearch();
  const navigate = Route.useNavigate();
  return <SettingsPage tab={tab ?? "profile"} onTab={(next) => void navigate({ search: { tab: next }, replace: true })} />;
}
