import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { SwitchRow } from "#/components/form/Switch";
import { Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { PermissionRow } from "./PermissionRow";
import { useNotificationPreferences, useSetNotification } from "./queries";

/** Categories of the contract (3.8), in the order of how often they matter. */
const categories = ["messages", "mentions", "agent_activity", "task_assigned", "task_completed", "task_reminders", "reminders", "invites"] as const;

export function NotificationsTab() {
  const t = useT();
  const prefs = useNotificationPreferences();
  const set = useSetNotification();
  return (
    <Section title={t("settings.tab.notifications")} hint={t("settings.notificationsHint")}>
      <PermissionRow />
      {prefs.isPending ? (
        <div role="status" aria-busy="true" aria-label={t("common.loading")} className="flex flex-col gap-3">
          {categories.map((c) => (
            <Skeleton key={c} className="h-7 w-full" />
          ))}
        </div>
      ) : !prefs.data ? (
        <ErrorNote error={prefs.error} onRetry={() => void prefs.refetch()} />
      ) : (
        <div className="divide-y divide-line">
          {categories.map((c) => (
            <SwitchRow
              key={c}
              label={t(`settings.notify.${c}`)}
              hint={t(`settings.notify.${c}.hint`)}
              // Absent means on: the server says false for what is switched off.
              checked={prefs.data[c] !== false}
              onChange={(on) => set.mutate({ [c]: on })}
            />
          ))}
        </div>
      )}
      <ErrorNote error={set.error} className="mt-4" />
    </Section>
  );
}
