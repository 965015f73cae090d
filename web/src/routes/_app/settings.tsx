import { createFileRoute } from "@tanstack/react-router";
import { TwoPeople } from "#/features/decisions/TwoPeople";
import { SettingsPage, type SettingsTab, settingsTabs } from "#/features/profile/SettingsPage";
import { useKnownPeople } from "#/features/rooms/data";
import { PeoplePicker } from "#/features/rooms/PeoplePicker";
import { useT } from "#/i18n";
import { useSelf } from "#/lib/self";

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
  return <SettingsPage tab={tab ?? "profile"} rules={<WorkspaceRules />} onTab={(next) => void navigate({ search: { tab: next }, replace: true })} />;
}

/** For each workspace that the person runs, whether two people decide there. They may be one of those who do. */
function WorkspaceRules() {
  const t = useT();
  const self = useSelf();
  const known = useKnownPeople(self.id).filter((p) => p.type !== "agent");
  const people = [{ id: self.id, type: "human" as const, displayName: self.displayName, avatarUrl: self.avatarUrl ?? null }, ...known];
  const runs = (self.organizations ?? []).filter((o) => o.role === "owner" || o.role === "admin");
  return runs.map((o) => (
    <TwoPeople
      key={o.id}
      at={{ kind: "organizations", id: o.id }}
      title={t("decisions.rule.titleIn", { name: o.name })}
      hint={t("decisions.rule.hintIn")}
      people={people}
      picker={(props) => <PeoplePicker {...props} people={people} />}
    />
  ));
}
