/** What was decided, in words. */
import type { Id, PastDecision } from "#/api/types";
import { isKey, t } from "#/i18n";
import { decidedLine, oneLine } from "./lists";
import { tokenWords } from "./tokens";
import { wantsWords } from "./words";

/** What was asked. */
export function pastTitle(d: PastDecision): string {
  const name = d.agent.displayName;
  switch (d.kind) {
    case "permission_request":
      return wantsWords(name, d.request?.toolName ?? "", true);
    case "member_request":
      return t("decisions.past.member", { name, who: d.label ?? "" });
    case "credential_request":
      return t("decisions.past.credential", { name });
    case "budget_stop":
      return t("decisions.past.budget", { name });
    default:
      return t("decisions.past.ask", { name });
  }
}

/** What it was about, on one line. */
export function pastLine(d: PastDecision): string {
  switch (d.kind) {
    case "permission_request":
      return d.request ? decidedLine(d.request) : "";
    case "member_request":
      return oneLine([d.conversationTitle, d.description].filter(Boolean).join(" — "));
    case "credential_request":
      return oneLine([d.label, d.endpoint].filter(Boolean).join(" — "));
    case "budget_stop":
      return stopWords(d);
    default:
      return oneLine([d.question, d.answer].filter(Boolean).join(" — "));
  }
}

/** What an agent had used of which limit, and the limit since. */
export function stopWords(d: PastDecision): string {
  const used = t("decisions.budget.used", { used: tokenWords(d.used ?? 0), limit: tokenWords(d.tokensPerDay ?? 0) });
  return d.raisedTo ? `${used} → ${t("decisions.past.raisedTo", { limit: tokenWords(d.raisedTo) })}` : used;
}

/** What came of it, and by whom. */
export function outcomeWords(d: PastDecision, self: Id): string {
  const word = of(d);
  if (!d.decidedBy) {
    const key = d.kind === "budget_stop" ? "decisions.done.dayOver" : `decisions.done.${word}`;
    return isKey(key) ? t(key) : d.outcome;
  }
  const key = `decisions.${d.decidedBy.id === self ? "byYou" : "by"}.${word}`;
  return isKey(key) ? t(key, { name: d.decidedBy.displayName }) : d.outcome;
}

/** Some outcomes have another word where something else was asked. */
function of(d: PastDecision): string {
  if (d.grant && d.outcome === "approved") return "allowed";
  if (d.kind === "member_request" && d.outcome === "approved") return "added";
  if (d.kind === "credential_request" && d.outcome === "denied") return "declined";
  return d.outcome;
}

const good = ["approved", "edited", "answered", "fulfilled", "continued", "raised", "lifted"];

/** Green: a person let it go on. Red: a person did not. Amber: nobody answered. */
export function outcomeTone(outcome: string): string {
  if (good.includes(outcome)) return "text-good-text";
  if (outcome === "denied") return "text-bad-text";
  return outcome === "expired" ? "text-wait-text" : "text-text-3";
}
