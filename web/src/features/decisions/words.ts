/** The words of scopes, times and states. */
import type { ApprovalGrant, PermissionRequest } from "#/api/types";
import { isKey, t } from "#/i18n";
import { dateTime, elapsed } from "#/lib/format";

/** What a scope of a request would allow. */
export function scopeWords(request: PermissionRequest, scope: string): string {
  if (scope === "room") return t("decisions.scope.room", { tool: request.toolName });
  if (scope === "pattern") return facetWords(request.scopeKind ?? "", request.scopeFacet ?? "");
  return scope === "exact" ? t("decisions.scope.exact") : t("decisions.scope.once");
}

function facetWords(kind: string, facet: string): string {
  const key = `decisions.scope.${kind}`;
  return isKey(key) ? t(key, { facet }) : facet;
}

/** What a standing yes allows. */
export function grantWords(g: ApprovalGrant): string {
  if (g.scopeKind === "any") return t("decisions.allowed.anyTool", { tool: g.toolName });
  if (g.scopeKind === "exact") return t("decisions.allowed.exact", { tool: g.toolName });
  return t("decisions.allowed.pattern", { tool: g.toolName, what: facetWords(g.scopeKind, g.scopeFacet ?? "") });
}

export function stateWords(request: PermissionRequest): string {
  const key = `decisions.done.${request.state ?? request.status}`;
  return isKey(key) ? t(key) : request.status;
}

const HOUR = 3_600_000;

/** How much time is left: counted down in the last hour, else until when. */
export function timeLeft(expiresAt: string, now: number): { words: string; urgent: boolean; over: boolean } {
  const left = Date.parse(expiresAt) - now;
  if (left <= 0) return { words: t("decisions.over"), urgent: true, over: true };
  if (left < HOUR) return { words: t("decisions.left", { time: elapsed(left) }), urgent: left < 60_000, over: false };
  return { words: t("decisions.until", { time: dateTime(expiresAt) }), urgent: false, over: false };
}
