import type { Conversation, JsonMap } from "#/api/types";
import { tn, useLocale, useT } from "#/i18n";
import { counterpart } from "#/lib/rooms";
import { stateText, whereText } from "#/lib/terminal";
import { useHub } from "#/realtime/context";
import { useAgentActivity, useAgentDevice, usePresence } from "#/realtime/hooks";
import { markOf } from "#/realtime/presence";
import { useStore } from "#/realtime/store";

/** The line under a room's name: of a direct room what the other does now, of a group how many are here. */
export function RoomStatus({ room, selfId }: { room: Conversation; selfId: string }) {
  const session = room.type === "session" ? (room.metadata?.["session"] as JsonMap | undefined) : undefined;
  const other = counterpart(room, selfId);
  if (session) return <Session session={session} />;
  return other ? <Other id={other.id} roomId={room.id} /> : <Group room={room} />;
}

function Session({ session }: { session: JsonMap }) {
  useLocale();
  return <>{[stateText(session["state"], session["blocked_on"]), whereText(session)].filter(Boolean).join(" · ")}</>;
}

function Other({ id, roomId }: { id: string; roomId: string }) {
  const t = useT();
  const presence = usePresence(id);
  const activity = useAgentActivity(id);
  const device = useAgentDevice(id);
  if (activity && (activity.conversationIds.length === 0 || activity.conversationIds.includes(roomId)))
    return <>{t(`activity.now.${activity.activity}`)}</>;
  const where = presence !== "away" && (device?.nickname || device?.name);
  return <>{[t(`presence.${presence}`), where].filter(Boolean).join(" · ")}</>;
}

function Group({ room }: { room: Conversation }) {
  const t = useT();
  const members = room.members ?? [];
  const online = useStore(useHub().presence, (p) => members.filter((m) => markOf(p, m.participantId) !== "away").length);
  return <>{[tn("rooms.members", members.length), online > 0 && t("rooms.online", { count: online })].filter(Boolean).join(" · ")}</>;
}
