import { Link } from "@tanstack/react-router";
import { TerminalSquare } from "lucide-react";
import type { Conversation, Id, JsonMap } from "#/api/types";
import { Section } from "#/components/form/Section";
import { useLocale, useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { exactTime, shortTime } from "#/lib/format";
import { roomTitle } from "#/lib/rooms";
import { useSelf } from "#/lib/self";
import { stateText, toolName, whereText } from "#/lib/terminal";
import { useConversations } from "#/realtime/hooks";
import { sessionsOf } from "./sessions";

type Props = {
  agentId?: Id;
  /** The room of a session that is shown elsewhere on the page. */
  except?: Id | null;
  title: string;
  hint?: string;
};

/** Sessions that people drive in their own terminals and that are shown in a room of this person, the live ones first; of one agent or of all. */
export function SessionList({ agentId, except, title, hint }: Props) {
  const { rooms } = useConversations();
  const list = sessionsOf(rooms, agentId, except);
  if (list.length === 0) return null;
  return (
    <Section title={title} hint={hint}>
      <ul className="divide-y divide-line overflow-hidden rounded-panel border border-line">
        {list.map(({ room, session }) => (
          <li key={room.id}>
            <Row room={room} session={session} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

const tones: Record<string, string> = { running: "text-good-text", waiting: "text-wait-text" };

function Row({ room, session }: { room: Conversation; session: JsonMap }) {
  const t = useT();
  useLocale();
  const self = useSelf();
  const state = String(session["state"] ?? "");
  const last = session["last_event_at"];
  const at = typeof last === "string" ? last : room.updatedAt;
  return (
    <Link
      to="/rooms/$roomId"
      params={{ roomId: room.id }}
      className="ring-inset-focus flex items-start gap-3 bg-raised px-4 py-2.5 text-side hover:bg-hover"
    >
      <TerminalSquare size={18} strokeWidth={1.75} className="mt-px shrink-0 text-text-3" aria-hidden="true" />
      <span className="min-w-0 flex-1">
        <span className="block truncate font-medium">{roomTitle(room, self.id)}</span>
        <span className="block break-words text-meta text-text-3">{[toolName(session["tool"]), whereText(session)].filter(Boolean).join(" · ")}</span>
      </span>
      <span className="shrink-0 text-right">
        <span className={cx("block font-medium text-meta", tones[state] ?? "text-text-3")}>{stateText(state, session["blocked_on"])}</span>
        <time dateTime={at} title={exactTime(at)} className="block text-meta text-text-3">
          <span className="sr-only">{t("terminal.last")}: </span>
          {shortTime(at)}
        </time>
      </span>
    </Link>
  );
}
