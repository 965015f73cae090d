import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { SwitchRow } from "#/components/form/Switch";
import { Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { PermissionRow } from "./PermissionRow";
import { useNotificationPreferences, useSetNotification } from "./queries";

/** Categories of the contract (3.8), in the order of how often they matter. */
const groups = [
  { name: "rooms", categories: ["messages", "mentions", "agent_activity", "invites"] },
  { name: "tasks", categories: ["task_assigned", "task_completed", "task_reminders"] },
  { name: "reminders", categories: ["reminders"] },
] as const;

export function NotificationsTab() {
  const t = useT();
  const prefs = useNotificationPreferences();
  const set = useSetNotification();
  return (
    <Section title={t("settings.tab.notifications")} hint={t("settings.notificationsHint")}>
      <PermissionRow />
      {prefs.isPending ? (
        <div role="status" aria-busy="true" aria-label={t("common.loading")} className="flex flex-col gap-3">
          {[0, 1, 2, 3, 4, 5].map((n) => (
            <Skeleton key={n} className="h-7 w-full" />
          ))}
        </div>
      ) : !prefs.data ? (
        <ErrorNote error={prefs.error} onRetry={() => void prefs.refetch()} />
      ) : (
        groups.map(({ name, categories }) => (
          <section key={name} aria-labelledby={`notify-${name}`} className="mt-5 first:mt-0">
            <h3 id={`notify-${name}`} className="mb-1 font-medium text-[13px] text-text-3">
              {t(`settings.notify.group.${name}`)}
            </h3>
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
          </section>
        ))
      )}
      <ErrorNote error={set.error} className="mt-4" />
    </Section>
  );
}
