import { Link } from "@tanstack/react-router";
import { Clock } from "lucide-react";
import { type ReactNode, useId } from "react";
import type { Id } from "#/api/types";
import { Avatar } from "#/components/ui/avatar";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { useNow } from "#/lib/useNow";
import { timeLeft } from "./words";

/** What keys do with the card that is in front; a card that has no such thing leaves it out. */
export interface CardHandle {
  yes?: () => void;
  no?: () => void;
  change?: () => void;
  /** Takes the n-th of its answers, from 0. */
  pick?: (n: number) => void;
}

type Props = {
  /** Of the thing that waits. */
  id: Id;
  agent: { id: Id; name: string };
  title: string;
  /** A room without a title is the direct one with the agent. Left out where the card is shown in its room. */
  room?: { id: Id; title: string | null } | undefined;
  task?: { id: Id; title?: string | undefined } | undefined;
  /** More about it, in words. */
  meta?: string | undefined;
  expiresAt?: string | undefined;
  badge?: ReactNode;
  /** The keys act on it. */
  current?: boolean;
  children: ReactNode;
};

/** The frame of everything that waits: who asks, where, until when. */
export function Card({ id, agent, title, room, task, meta, expiresAt, badge, current = false, children }: Props) {
  const t = useT();
  const heading = useId();
  const now = useNow(true);
  const time = expiresAt ? timeLeft(expiresAt, now) : null;
  return (
    <article
      aria-labelledby={heading}
      data-current={current || undefined}
      data-request={id}
      tabIndex={-1}
      className={cx("scroll-my-4 rounded-panel border bg-raised p-4 transition-colors", current ? "border-accent" : "border-line")}
    >
      <header className="flex flex-wrap items-start gap-x-3 gap-y-2 sm:flex-nowrap">
        <Avatar id={agent.id} name={agent.name} kind="agent" size={36} />
        <div className="min-w-0 flex-1">
          <h2 id={heading} className="break-words font-medium text-body">
            {title}
          </h2>
          <p className="flex flex-wrap items-center gap-x-2 text-meta text-text-3">
            {room && (
              <Link to="/rooms/$roomId" params={{ roomId: room.id }} className={link}>
                {t("decisions.inRoom", { room: room.title || agent.name })}
              </Link>
            )}
            {task && (
              <Link to="/tasks" search={{ task: task.id }} className={link}>
                {task.title ? t("decisions.ofTaskNamed", { title: task.title }) : t("decisions.ofTask")}
              </Link>
            )}
            {meta && <span>{meta}</span>}
            {time && (
              <span className={cx("inline-flex items-center gap-1", time.urgent && "text-wait-text")}>
                <Clock size={13} strokeWidth={1.75} aria-hidden="true" />
                {time.words}
              </span>
            )}
          </p>
        </div>
        {badge}
      </header>
      {children}
    </article>
  );
}

const link = "min-w-0 max-w-full break-words rounded-control underline-offset-2 hover:text-text hover:underline";
