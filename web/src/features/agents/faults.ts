/** What a fault means and what to do about it, from the codes that bridges and the server use. */
import { isKey, t } from "#/i18n";

export function faultWords(code: string, message?: string): { title: string; hint: string } {
  const title = `agents.fault.${code}`;
  const hint = `agents.fault.${code}.hint`;
  return {
    title: isKey(title) ? t(title) : message || t("agents.fault.unknown", { code }),
    hint: isKey(hint) ? t(hint) : isKey(title) ? "" : t("agents.fault.unknown.hint"),
  };
}

export function outcomeWords(outcome: string): string {
  const key = `agents.outcome.${outcome}`;
  return isKey(key) ? t(key) : outcome;
}
