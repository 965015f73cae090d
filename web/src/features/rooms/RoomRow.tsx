import { Link } from "@tanstack/react-router";
import { AtSign, Pin } from "lucide-react";
import { memo } from "react";
import type { Agent } from "#/api/types";
import { Avatar } from "#/components/ui/avatar";
import { tn, useLocale, useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { readDraft, useHasDraft } from "#/lib/drafts";
import { exactTime, shortTime } from "#/lib/format";
import { counterpart, previewOf } from "#/lib/rooms";
import { useAgentActivity, usePresence, useTyping } from "#/realtime/hooks";
import { badge, type RoomEntry } from "./sections";

const rowClass =
  "group/item ring-inset-focus flex items-center gap-2.5 rounded-control px-2 py-1.5 text-side transition-colors hover:bg-hover " +
  "[--presence-halo:var(--rail)] coarse:py-2";

type Props = { entry: RoomEntry; title: string; selfId: string; open: boolean };

export const RoomRow = memo(function RoomRow({ entry, title, selfId, open }: Props) {
  const t = useT();
  useLocale();
  const { room, unread, mentioned } = entry;
  const other = counterpart(room, selfId);
  const loud = unread > 0 && !open;
  return (
    <Link
      to="/rooms/$roomId"
      params={{ roomId: room.id }}
      aria-current={open ? "page" : undefined}
      data-nav=""
      className={cx(rowClass, open && "bg-selected hover:bg-selected [--presence-halo:var(--selected)]")}
    >
      {other ? (
        <Face id={other.id} name={title} kind={other.type === "agent" ? "agent" : "human"} src={other.avatarUrl} />
      ) : (
        <Avatar id={room.id} name={title} kind="group" src={room.avatarUrl} size={32} />
      )}
      <span className="min-w-0 flex-1">
        <span className="flex items-baseline gap-2">
          <span className={cx("min-w-0 flex-1 truncate", loud ? "font-semibold" : "font-medium")}>{title}</span>
          {room.pinned && <Pin size={12} strokeWidth={1.75} aria-label={t("rooms.pinned")} role="img" className="shrink-0 self-center text-text-3" />}
          <time dateTime={room.updatedAt} title={exactTime(room.updatedAt)} className="shrink-0 text-[12px] text-text-3 leading-4 tabular-nums">
            {shortTime(room.lastMessage?.insertedAt ?? room.updatedAt)}
          </time>
        </span>
        <span className="flex h-4.5 items-center gap-1.5">
          <span className={cx("min-w-0 flex-1 truncate text-[13px] leading-4.5", loud ? "text-text-2" : "text-text-3")}>
            <SecondLine entry={entry} selfId={selfId} open={open} />
          </span>
          {loud && mentioned && (
            <span className="grid size-4.5 shrink-0 place-items-center rounded-full bg-wait-soft text-wait-text">
              <AtSign size={12} strokeWidth={2.25} aria-hidden="true" />
              <span className="sr-only">{t("rooms.mentioned")}</span>
            </span>
          )}
          {loud && (
            <span
              className={cx(
                "grid h-4.5 min-w-4.5 shrink-0 place-items-center rounded-full px-1.5 font-semibold text-[12px] leading-none tabular-nums",
                mentioned ? "bg-wait-text text-page" : "bg-accent text-on-accent",
              )}
            >
              <span aria-hidden="true">{badge(unread)}</span>
              <span className="sr-only">{tn("rooms.unread", unread)}</span>
            </span>
          )}
        </span>
      </span>
    </Link>
  );
});

function Face({ id, name, kind, src }: { id: string; name: string; kind: "human" | "agent"; src: string | null | undefined }) {
  return <Avatar id={id} name={name} kind={kind} src={src} size={32} presence={usePresence(id)} />;
}

/** Who types or works there now, else the draft, else the newest words. */
function SecondLine({ entry, selfId, open }: { entry: RoomEntry; selfId: string; open: boolean }) {
  const t = useT();
  const { room } = entry;
  const typing = useTyping(room.id);
  const agentId = counterpart(room, selfId)?.type === "agent" ? (counterpart(room, selfId)?.id ?? "") : "";
  const activity = useAgentActivity(agentId);
  const drafted = useHasDraft(room.id);
  if (activity?.conversationIds.includes(room.id)) {
    return <span className="text-accent-text">{t(`activity.now.${activity.activity}`)}</span>;
  }
  if (typing[0]) return <span className="text-accent-text">{t("activity.one", { name: typing[0].name, what: t("activity.typing") })}</span>;
  if (drafted && !open) return <span className="text-wait-text">{t("rooms.draft", { text: readDraft(room.id).slice(0, 80) })}</span>;
  const last = room.lastMessage;
  if (!last) return t("rooms.noMessages");
  const text = previewOf(last);
  if (last.senderId === selfId) return t("rooms.you", { text });
  if (room.type !== "direct" && last.sender?.displayName) return `${last.sender.displayName}: ${text}`;
  return text;
}

export function AgentRow({ agent, busy, onOpen }: { agent: Agent; busy: boolean; onOpen: () => void }) {
  const t = useT();
  return (
    <button type="button" data-nav="" onClick={onOpen} aria-busy={busy || undefined} className={cx(rowClass, "w-full text-left")}>
      <Face id={agent.id} name={agent.displayName} kind="agent" src={agent.avatarUrl} />
      <span className="min-w-0 flex-1">
        <span className="block truncate font-medium">{agent.displayName}</span>
        <span className="block truncate text-[13px] text-text-3 leading-4.5">{agent.description || t("rooms.writeFirst")}</span>
      </span>
    </button>
  );
}
