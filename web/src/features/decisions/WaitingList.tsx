import { Link } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import { Avatar } from "#/components/ui/avatar";
import { tn, useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { oneLine, requestLine } from "./lists";
import { useWaiting, type Waiting } from "./queries";
import { tokenWords } from "./tokens";
import { wantsWords } from "./words";

type Props = { most?: number };

/** A waiting thing on two lines. */
function useLines(): (w: Waiting) => { title: string; detail: string; code?: boolean } {
  const t = useT();
  return (w) => {
    const { name } = w.agent;
    switch (w.kind) {
      case "request":
        return { title: wantsWords(name, w.request.toolName), detail: requestLine(w.request), code: true };
      case "ask":
        return { title: t("decisions.ask.wants", { name }), detail: oneLine(w.decision.question ?? "") };
      case "member":
        return { title: t("decisions.member.wants", { name, who: w.decision.label ?? "" }), detail: w.decision.title ?? "" };
      case "stop": {
        const { used = 0, tokensPerDay = 0 } = w.decision;
        const detail = t("decisions.budget.used", { used: tokenWords(used), limit: tokenWords(tokensPerDay) });
        return { title: t("decisions.budget.stopped", { name }), detail };
      }
      case "secret":
        return { title: t("decisions.credential.wants", { name }), detail: w.secret.label };
    }
  };
}

/** A question is answered on the page of its task, everything else in the inbox. */
const taskOf = (w: Waiting) => (w.kind === "ask" ? w.decision.taskId : null);

/** The first things that wait for this person, each leading to where it is answered. Draws nothing when nothing waits. */
export function WaitingList({ most = 3 }: Props) {
  const t = useT();
  const { items } = useWaiting();
  const lines = useLines();
  if (items.length === 0) return null;
  return (
    <section aria-labelledby="waiting-list">
      <h2 id="waiting-list" className="mb-1.5 px-1 font-medium text-[13px] text-wait-text">
        {t("decisions.room.label")}
      </h2>
      <ul className="divide-y divide-line overflow-hidden rounded-panel border border-wait-line">
        {items.slice(0, most).map((w) => {
          const { title, detail, code } = lines(w);
          const task = taskOf(w);
          return (
            <li key={w.id}>
              <Link
                {...(task ? { to: "/tasks", search: { task } } : { to: "/decisions" })}
                className="ring-inset-focus flex items-center gap-3 bg-raised px-3 py-2.5 hover:bg-hover"
              >
                <Avatar id={w.agent.id} name={w.agent.name} kind="agent" size={36} />
                <span className="min-w-0 flex-1">
                  <span className="block truncate font-medium text-side">{title}</span>
                  <span className={cx("block truncate text-[13px] text-text-3 leading-4.5", code && "font-mono")}>{detail}</span>
                </span>
                <ChevronRight size={16} strokeWidth={1.75} className="shrink-0 text-text-3" aria-hidden="true" />
              </Link>
            </li>
          );
        })}
      </ul>
      {items.length > most && (
        <p className="mt-1 px-1">
          <Link to="/decisions" className="rounded-control text-meta text-text-2 underline-offset-2 hover:underline">
            {tn("decisions.room.more", items.length - most)}
          </Link>
        </p>
      )}
    </section>
  );
}
