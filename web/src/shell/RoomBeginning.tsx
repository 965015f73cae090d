import type { Conversation } from "#/api/types";
import { Avatar } from "#/components/ui/avatar";
import { useT } from "#/i18n";
import { counterpart } from "#/lib/rooms";

/** What stands above the first message of a room. */
export function RoomBeginning({ room, title, selfId, empty }: { room: Conversation; title: string; selfId: string; empty: boolean }) {
  const t = useT();
  const other = counterpart(room, selfId);
  return (
    <div className="px-5 pt-10 pb-2">
      {other ? (
        <Avatar id={other.id} name={title} kind={other.type === "agent" ? "agent" : "human"} src={other.avatarUrl} size={56} />
      ) : (
        <Avatar id={room.id} name={title} kind="group" src={room.avatarUrl} size={56} />
      )}
      <h2 className="mt-3 text-balance break-words font-semibold text-head">
        {other ? t("timeline.beginDirect", { name: title }) : t("timeline.begin", { room: title })}
      </h2>
      {other?.description && <p className="mt-1 max-w-[560px] text-pretty text-side text-text-2">{other.description}</p>}
      {empty && (
        <p className="mt-1 max-w-[560px] text-pretty text-side text-text-2">
          {other?.type === "agent" ? t("timeline.emptyAgentHint", { name: title }) : t("timeline.emptyHint")}
        </p>
      )}
    </div>
  );
}
