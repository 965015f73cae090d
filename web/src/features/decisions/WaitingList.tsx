import { Link } from "@tanstack/react-router";
import { ChevronRight } from "lucide-react";
import type { Id } from "#/api/types";
import { Avatar } from "#/components/ui/avatar";
import { useT } from "#/i18n";
import { shownRequest, visible } from "./lists";
import { useAsks, useCredentials, usePending } from "./queries";

type Props = { most?: number };

interface Item {
  key: string;
  agent: { id: Id; name: string };
  title: string;
  detail: string;
  /** A question is answered on the page of its task. */
  task: Id | null;
  code: boolean;
}

/** What waits for this person, what ends first on top. */
function useItems(): Item[] {
  const t = useT();
  const requests = usePending().data ?? [];
  const asks = useAsks().data ?? [];
  const secrets = useCredentials().data ?? [];
  return [
    ...requests.map((r) => ({
      key: r.id,
      agent: { id: r.agentId, name: r.agentName ?? "" },
      title: t("decisions.wants", { name: r.agentName ?? "", tool: r.toolName }),
      detail: visible(shownRequest(r).main),
      task: null,
      code: true,
    })),
    ...asks.map((a) => ({
      key: a.id,
      agent: { id: a.agent?.id ?? "", name: a.agent?.displayName ?? "" },
      title: t("decisions.ask.wants", { name: a.agent?.displayName ?? "" }),
      detail: a.question ?? "",
      task: a.taskId,
      code: false,
    })),
    ...secrets.map((c) => ({
      key: c.id,
      agent: { id: c.agentId, name: c.agentName ?? "" },
      title: t("decisions.credential.wants", { name: c.agentName ?? "" }),
      detail: c.label,
      task: null,
      code: false,
    })),
  ];
}

/** The first things that wait for this person, each leading to where it is answered. Draws nothing when nothing waits. */
export function WaitingList({ most = 3 }: Props) {
  const t = useT();
  const items = useItems();
  if (items.length === 0) return null;
  return (
    <section aria-labelledby="waiting-list">
      <h2 id="waiting-list" className="mb-1.5 px-1 font-medium text-[13px] text-wait-text">
        {t("decisions.room.label")}
      </h2>
      <ul className="divide-y divide-line overflow-hidden rounded-panel border border-wait-line">
        {items.slice(0, most).map((item) => (
          <li key={item.key}>
            <Link
              {...(item.task ? { to: "/tasks", search: { task: item.task } } : { to: "/decisions" })}
              className="ring-inset-focus flex items-center gap-3 bg-raised px-3 py-2.5 hover:bg-hover"
            >
              <Avatar id={item.agent.id} name={item.agent.name} kind="agent" size={36} />
              <span className="min-w-0 flex-1">
                <span className="block truncate font-medium text-side">{item.title}</span>
                <span className={`block truncate text-[13px] text-text-3 leading-4.5 ${item.code ? "font-mono" : ""}`}>{item.detail}</span>
              </span>
              <ChevronRight size={16} strokeWidth={1.75} className="shrink-0 text-text-3" aria-hidden="true" />
            </Link>
          </li>
        ))}
      </ul>
      {items.length > most && (
        <p className="mt-1 px-1">
          <Link to="/decisions" className="rounded-control text-meta text-text-2 underline-offset-2 hover:underline">
            {t("decisions.room.more", { n: items.length - most })}
          </Link>
        </p>
      )}
    </section>
  );
}
