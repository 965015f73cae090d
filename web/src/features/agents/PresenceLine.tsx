import { PresenceMark as Mark } from "#/components/ui/avatar";
import { isKey, useT } from "#/i18n";
import { elapsed } from "#/lib/format";
import { useNow } from "#/lib/useNow";
import { useAgentActivity, useAgentDevice, usePresence } from "#/realtime/hooks";

/** Presence of an agent in words and shape, with what it does now. */
export function PresenceLine({ agentId, long = false }: { agentId: string; long?: boolean }) {
  const t = useT();
  const presence = usePresence(agentId);
  const activity = useAgentActivity(agentId);
  const device = useAgentDevice(agentId);
  const now = useNow(activity !== null);
  const doing = activity && isKey(`activity.now.${activity.activity}`) ? t(`activity.now.${activity.activity}` as "activity.now.thinking") : "";
  const where = device ? device.nickname || device.name : "";
  return (
    <span className="inline-flex min-w-0 items-center gap-1.5 text-side text-text-2">
      <Mark state={presence} kind="agent" size={14} />
      <span className="truncate">
        {presence === "working" && doing
          ? long && activity?.since
            ? t("agents.now.since", { what: doing, time: elapsed(now - activity.since) })
            : doing
          : presence === "here" && where
            ? t("agents.onlineOn", { device: where })
            : t(`presence.${presence}`)}
      </span>
    </span>
  );
}
