import { ChevronDown, CircleCheck, CircleSlash, MessagesSquare } from "lucide-react";
import { useId, useState } from "react";
import type { Conversation } from "#/api/types";
import { Avatar } from "#/components/ui/avatar";
import { Button, IconButton } from "#/components/ui/button";
import { tn, useLocale, useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { exactTime, nameList, shortTime } from "#/lib/format";
import { type Huddle, huddleOf } from "#/lib/huddles";
import { previewOf } from "#/lib/rooms";
import { useHuddleUnread } from "./queries";

const MOST_FACES = 4;

/** A huddle as the room above sees it: one line under the message that it belongs to, which unfolds, and changes in place. */
export function HuddleCard({ room, open, onOpen }: { room: Conversation; open: boolean; onOpen: (id: string) => void }) {
  const t = useT();
  useLocale();
  const id = useId();
  const [unfolded, setUnfolded] = useState(false);
  const unread = useHuddleUnread(room);
  const huddle = huddleOf(room);
  if (!huddle) return null;
  const members = room.members ?? [];
  const names = nameList(members.map((m) => m.participant?.displayName ?? m.displayName ?? "").filter(Boolean));
  const count = room.huddle?.messageCount ?? 0;
  return (
    <section aria-label={t("huddle.label", { topic: huddle.topic || names })} className="px-4 pt-1.5 pb-0.5 sm:px-5">
      <div
        className={cx(
          "ml-11 max-w-[720px] rounded-panel border bg-raised sm:ml-12",
          open ? "border-accent-line" : "border-line",
          huddle.status !== "open" && "bg-transparent",
        )}
      >
        <div className="flex items-center gap-1 pr-1">
          <button
            type="button"
            data-huddle={room.id}
            onClick={() => onOpen(room.id)}
            className="ring-inset-focus flex min-h-9 min-w-0 flex-1 items-center gap-2 rounded-panel px-2.5 py-1 text-left hover:bg-hover coarse:min-h-11"
          >
            <StateIcon status={huddle.status} />
            <span className="min-w-0 flex-1 truncate text-side">
              <span className={cx("font-medium", huddle.status !== "open" && "text-text-2")}>{huddle.topic || names}</span>
              {huddle.topic && <span className="text-text-3 max-sm:hidden"> · {names}</span>}
            </span>
            <span className="flex shrink-0 -space-x-1 max-sm:hidden" aria-hidden="true">
              {members.slice(0, MOST_FACES).map((m) => (
                <Avatar
                  key={m.participantId}
                  id={m.participantId}
                  name={m.participant?.displayName ?? ""}
                  kind={m.participant?.type === "agent" ? "agent" : "human"}
                  src={m.participant?.avatarUrl}
                  size={20}
                />
              ))}
            </span>
            <span className="shrink-0 text-meta text-text-3 tabular-nums">{tn("huddle.messages", count)}</span>
            {unread > 0 && (
              <span className="shrink-0 rounded-full bg-accent px-1.5 text-[12px] text-on-accent leading-4.5 tabular-nums">
                {unread > 99 ? "99+" : unread}
              </span>
            )}
            {huddle.status !== "open" && (
              <span className="shrink-0 text-meta text-text-2">{t(`huddle.state.${huddle.outcome || huddle.status}`)}</span>
            )}
          </button>
          <IconButton
            size="sm"
            label={t(unfolded ? "huddle.fold" : "huddle.unfold")}
            aria-expanded={unfolded}
            aria-controls={id}
            onClick={() => setUnfolded(!unfolded)}
          >
            <ChevronDown size={16} strokeWidth={1.75} className={cx("transition-transform", unfolded && "rotate-180")} />
          </IconButton>
        </div>
        {unfolded && (
          <div id={id} className="border-line border-t px-3 py-2.5 text-side">
            <Unfolded room={room} huddle={huddle} names={names} />
            <Button size="sm" className="mt-2.5" onClick={() => onOpen(room.id)}>
              {t(huddle.status === "open" ? "huddle.open" : "huddle.read")}
            </Button>
          </div>
        )}
      </div>
    </section>
  );
}

function Unfolded({ room, huddle, names }: { room: Conversation; huddle: Huddle; names: string }) {
  const t = useT();
  const last = room.lastMessage;
  return (
    <dl className="flex flex-col gap-1.5 [&_dd]:min-w-0 [&_dd]:break-words [&_dt]:text-meta [&_dt]:text-text-3">
      <div>
        <dt>{t("huddle.members")}</dt>
        <dd>{names}</dd>
      </div>
      {huddle.goal && (
        <div>
          <dt>{t("huddle.goal")}</dt>
          <dd className="whitespace-pre-wrap">{huddle.goal}</dd>
        </div>
      )}
      {huddle.summary ? (
        <div>
          <dt>{t("huddle.summary")}</dt>
          <dd className="whitespace-pre-wrap">{huddle.summary}</dd>
        </div>
      ) : last ? (
        <div>
          <dt>
            {t("huddle.last")}{" "}
            <time dateTime={last.insertedAt} title={exactTime(last.insertedAt)}>
              {shortTime(last.insertedAt)}
            </time>
          </dt>
          <dd className="line-clamp-3">
            {last.sender?.displayName && <span className="font-medium">{last.sender.displayName}: </span>}
            {previewOf(last)}
          </dd>
        </div>
      ) : (
        <p className="text-text-3">{t("huddle.silent")}</p>
      )}
    </dl>
  );
}

export function StateIcon({ status }: { status: Huddle["status"] }) {
  const look = "shrink-0";
  if (status === "resolved") return <CircleCheck size={16} strokeWidth={1.75} className={cx(look, "text-good-text")} aria-hidden="true" />;
  if (status === "abandoned") return <CircleSlash size={16} strokeWidth={1.75} className={cx(look, "text-text-3")} aria-hidden="true" />;
  return <MessagesSquare size={16} strokeWidth={1.75} className={cx(look, "text-accent-text")} aria-hidden="true" />;
}
