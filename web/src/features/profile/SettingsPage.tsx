import { Tabs } from "radix-ui";
import type { ComponentType, ReactNode } from "react";
import { Page, PageHead } from "#/components/ui/page";
import { TabBar } from "#/components/ui/tabs";
import { useT } from "#/i18n";
import { AccountTab } from "./AccountTab";
import { AppearanceTab } from "./AppearanceTab";
import { KeysTab } from "./KeysTab";
import { NotificationsTab } from "./NotificationsTab";
import { ProfileTab } from "./ProfileTab";
import { SecurityTab } from "./SecurityTab";
import { ServicesTab } from "./ServicesTab";

export const settingsTabs = ["profile", "appearance", "notifications", "keys", "services", "security", "account"] as const;
export type SettingsTab = (typeof settingsTabs)[number];

const panels: Record<SettingsTab, ComponentType<{ rules?: ReactNode }>> = {
  profile: ProfileTab,
  appearance: AppearanceTab,
  notifications: NotificationsTab,
  keys: KeysTab,
  services: ServicesTab,
  security: SecurityTab,
  account: AccountTab,
};

type Props = {
  tab: SettingsTab;
  onTab: (tab: SettingsTab) => void;
  /** Who decides in the workspaces that the person runs. */
  rules?: ReactNode;
};

export function SettingsPage({ tab, onTab, rules }: Props) {
  const t = useT();
  return (
    <Page>
      <PageHead title={t("settings.title")} />
      <Tabs.Root
        value={tab}
        onValueChange={(v) => onTab(v as SettingsTab)}
        orientation="vertical"
        className="grid gap-x-12 gap-y-6 md:grid-cols-[180px_minmax(0,1fr)]"
      >
        <TabBar look="side" label={t("settings.title")} all={settingsTabs} value={tab} words={(name) => t(`settings.tab.${name}`)} />
        {settingsTabs.map((name) => {
          const Panel = panels[name];
          return (
            <Tabs.Content key={name} value={name} className="min-w-0 focus-visible:outline-offset-8">
              <Panel rules={rules} />
            </Tabs.Content>
          );
        })}
      </Tabs.Root>
    </Page>
  );
}
