import { Tabs } from "radix-ui";
import type { ComponentType, ReactNode } from "react";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
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
    <div className="h-full overflow-y-auto">
      <div className="mx-auto w-full max-w-[920px] px-4 py-6 sm:px-8 sm:py-9">
        <h1 className="mb-6 font-semibold text-head">{t("settings.title")}</h1>
        <Tabs.Root
          value={tab}
          onValueChange={(v) => onTab(v as SettingsTab)}
          orientation="vertical"
          className="grid gap-x-12 gap-y-6 md:grid-cols-[180px_minmax(0,1fr)]"
        >
          <Tabs.List aria-label={t("settings.title")} className="-mx-4 flex gap-1 overflow-x-auto px-4 md:mx-0 md:flex-col md:px-0">
            {settingsTabs.map((name) => (
              <Tabs.Trigger
                key={name}
                value={name}
                className={cx(
                  "hit ring-inset-focus whitespace-nowrap rounded-control px-3 py-1.5 text-left text-side text-text-2 transition-colors hover:bg-hover hover:text-text",
                  "data-[state=active]:bg-selected data-[state=active]:font-medium data-[state=active]:text-text",
                )}
              >
                {t(`settings.tab.${name}`)}
              </Tabs.Trigger>
            ))}
          </Tabs.List>
          {settingsTabs.map((name) => {
            const Panel = panels[name];
            return (
              <Tabs.Content key={name} value={name} className="min-w-0 focus-visible:outline-offset-8">
                <Panel rules={rules} />
              </Tabs.Content>
            );
          })}
        </Tabs.Root>
      </div>
    </div>
  );
}
