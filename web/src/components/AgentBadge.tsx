import { useT } from "#/i18n";

/** The word that says somebody is an agent, beside a name. */
export function AgentBadge() {
  const t = useT();
  return (
    <span className="shrink-0 rounded-[4px] bg-accent-soft px-1.5 font-medium text-[12px] text-accent-text leading-4.5">{t("message.agent")}</span>
  );
}
