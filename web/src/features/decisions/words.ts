/** The words of scopes, tools and times. */
import type { ApprovalGrant, PermissionRequest } from "#/api/types";
import { isKey, t, tn } from "#/i18n";
import { dateTime, elapsed } from "#/lib/format";
import { visible } from "./lists";

/** Who wants to run what. A tool of the server has words; one of the agent's own is named as the agent names it. */
export function wantsWords(name: string, tool: string, past = false): string {
  const key = `tool.${tool}`;
  if (isKey(key)) return t(past ? "decisions.wantedToUse" : "decisions.wantsToUse", { name, tool: t(key) });
  return t(past ? "decisions.wanted" : "decisions.wants", { name, tool: visible(tool) });
}

/** What a scope of a request would allow. */
export function scopeWords(request: PermissionRequest, scope: string): string {
  if (scope === "room") return t("decisions.scope.room", { tool: request.toolName });
  if (scope === "pattern") return facetWords(request.scopeKind ?? "", request.scopeFacet ?? "");
  return scope === "exact" ? t("decisions.scope.exact") : t("decisions.scope.once");
}

function facetWords(kind: string, facet: string): string {
  const key = `decisions.scope.${kind}`;
  return isKey(key) ? t(key, { facet: visible(facet) }) : visible(facet);
}

/** What the tool of a standing yes does; the server's word, or its name, where the catalogue has none. */
export function toolTitle(g: Pick<ApprovalGrant, "toolName" | "toolTitle">): string {
  for (const key of [`tool.${g.toolName}`, `decisions.tool.${g.toolName}`]) if (isKey(key)) return t(key);
  return visible(g.toolTitle || g.toolName);
}

/** Which calls of its tool a standing yes covers. */
export function grantWords(g: Pick<ApprovalGrant, "scopeKind" | "scopeFacet">): string {
  if (g.scopeKind === "any") return t("decisions.allowed.any");
  return g.scopeKind === "exact" ? t("decisions.allowed.exact") : facetWords(g.scopeKind, g.scopeFacet ?? "");
}

export function usesWords(n: number): string {
  return n === 0 ? t("decisions.allowed.unused") : tn("decisions.allowed.uses", n);
}

const HOUR = 3_600_000;

/** How much time is left: counted down in the last hour, else until when. */
export function timeLeft(expiresAt: string, now: number): { words: string; urgent: boolean; over: boolean } {
  const left = Date.parse(expiresAt) - now;
  if (left <= 0) return { words: t("decisions.over"), urgent: true, over: true };
  if (left < HOUR) return { words: t("decisions.left", { time: elapsed(left) }), urgent: left < 60_000, over: false };
  return { words: t("decisions.until", { time: dateTime(expiresAt) }), urgent: false, over: false };
}
