import { Link, useNavigate } from "@tanstack/react-router";
import { ChevronLeft, Maximize2, PanelRight, X } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Conversation } from "#/api/types";
import { Avatar } from "#/components/ui/avatar";
import { Button, IconButton } from "#/components/ui/button";
import { Empty, ErrorState } from "#/components/ui/states";
import { toast } from "#/components/ui/toast";
import { Tooltip } from "#/components/ui/tooltip";
import { ActivityDock } from "#/features/activity/ActivityDock";
import { Composer, type ComposerHandle } from "#/features/composer/Composer";
import type { Candidate } from "#/features/composer/candidates";
import { RoomRequests } from "#/features/decisions/RoomRequests";
import { useTaskRequests } from "#/features/decisions/TaskRequests";
import { HuddleBar, HuddleFoot } from "#/features/huddles/HuddleBar";
import { HuddleCard } from "#/features/huddles/HuddleCard";
import { useHuddles } from "#/features/huddles/queries";
import { useAgents } from "#/features/rooms/data";
import { RoomDetails } from "#/features/rooms/RoomDetails";
import { type Card, cardOf } from "#/features/tasks/states";
import { TaskCard, TaskNote } from "#/features/tasks/TaskCard";
import { firstLine, senderName } from "#/features/timeline/MessageRow";
import { useReceipts } from "#/features/timeline/receipts";
import type { TimelineMessage } from "#/features/timeline/rows";
import { TimelineSkeleton } from "#/features/timeline/TimelineSkeleton";
import { TimelineView } from "#/features/timeline/TimelineView";
import { useT } from "#/i18n";
import { errorLine } from "#/lib/errorLine";
import { huddleOf, seatOf } from "#/lib/huddles";
import { counterpart, mayManage, roomTitle } from "#/lib/rooms";
import { useSelf } from "#/lib/self";
import {
  useConnection,
  useConversation,
  useConversations,
  usePresence,
  useRoom,
  useRoomActions,
  useRoomActivity,
  useRoomStreams,
} from "#/realtime/hooks";
import { AsleepNote } from "./AsleepNote";
import { DropZone } from "./DropZone";
import { Resizer } from "./Resizer";
import { RoomBeginning } from "./RoomBeginning";
import { RoomStatus } from "./RoomStatus";
import { setShell, useShell } from "./ui-state";

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** The card of a task, with what this person can answer for it. */
function LiveTaskCard({ card, roomId }: { card: Card; roomId: string }) {
  return <TaskCard card={card} waits={useTaskRequests({ taskId: card.id, exceptRoom: roomId, withAsk: true })} />;
}

function taskCard(first: TimelineMessage, latest: TimelineMessage) {
  const card = cardOf(first, latest);
  return card && <LiveTaskCard card={card} roomId={first.conversationId} />;
}

function taskNote(message: TimelineMessage) {
  const card = cardOf(message);
  return card && <TaskNote card={card} />;
}

/** A link that names no room needs no server to tell. */
export function RoomPage({ roomId }: { roomId: string }) {
  return uuid.test(roomId) ? <OpenRoom roomId={roomId} /> : <RoomGone />;
}

function RoomGone() {
  const t = useT();
  return (
    <main className="grid h-full place-items-center">
      <Empty
        title={t("rooms.gone")}
        hint={t("rooms.goneHint")}
        action={
          <Button variant="primary" asChild>
            <Link to="/">{t("error.goHome")}</Link>
          </Button>
        }
      />
    </main>
  );
}

/** One room: header, timeline, dock, composer; and the pane beside it. */
function OpenRoom({ roomId }: { roomId: string }) {
  const t = useT();
  const self = useSelf();
  const room = useConversation(roomId);
  const handle = useRoom(roomId);
  const details = useShell("details");
  const paneWidth = useShell("paneWidth");
  const title = room ? roomTitle(room, self.id) : "";
  const [huddle, setHuddle] = useState<{ roomId: string; id: string } | null>(null);
  const beside = huddle?.roomId === roomId ? huddle.id : null;
  const openHuddle = useCallback((id: string) => setHuddle((held) => (held?.id === id ? null : { roomId, id })), [roomId]);
  const closeHuddle = () => {
    setHuddle(null);
    document.querySelector<HTMLElement>(`[data-huddle="${beside}"]`)?.focus({ preventScroll: true });
  };
  if (handle.status === "error" && (handle.error?.kind === "not_found" || handle.error?.kind === "forbidden")) {
    return <RoomGone />;
  }
  return (
    <div className="relative flex h-full min-w-0">
      <main aria-label={title} className="flex min-h-0 min-w-0 flex-1 flex-col">
        <Header room={room} title={title} detailsOpen={details} />
        <RoomBody key={roomId} roomId={roomId} room={room} title={title} handle={handle} openHuddle={openHuddle} shownHuddle={beside} />
      </main>
      {(beside || (details && room)) && (
        <div
          style={{ ["--pane" as string]: `${beside ? Math.max(paneWidth, 420) : paneWidth}px` }}
          className="relative min-h-0 shrink-0 animate-sheet border-line bg-page max-xl:absolute max-xl:inset-y-0 max-xl:right-0 max-xl:z-30 max-xl:w-full max-xl:max-w-96 max-xl:border-l max-xl:shadow-raised max-md:max-w-none xl:w-[var(--pane)]"
        >
          <Resizer
            label={t("shell.resizePane")}
            side="left"
            value={paneWidth}
            min={280}
            max={560}
            initial={340}
            onChange={(v) => setShell({ paneWidth: v })}
          />
          {beside ? (
            <HuddlePane key={beside} huddleId={beside} onClose={closeHuddle} />
          ) : (
            room && <RoomDetails key={roomId} room={room} onClose={() => setShell({ details: false })} />
          )}
        </div>
      )}
    </div>
  );
}

/** A huddle beside the room that it belongs to: all of it, live. */
function HuddlePane({ huddleId, onClose }: { huddleId: string; onClose: () => void }) {
  const t = useT();
  const self = useSelf();
  const room = useConversation(huddleId);
  const handle = useRoom(huddleId);
  const title = room ? roomTitle(room, self.id) : "";
  const gone = handle.status === "error" && (handle.error?.kind === "not_found" || handle.error?.kind === "forbidden");
  return (
    <aside
      aria-label={t("huddle.label", { topic: title })}
      className="flex h-full min-h-0 flex-col"
      onKeyDown={(e) => {
        if (e.key !== "Escape" || e.defaultPrevented) return;
        e.stopPropagation();
        onClose();
      }}
    >
      <header className="flex h-13 shrink-0 items-center gap-1 border-line border-b pr-2 pl-4">
        <h2 className="min-w-0 flex-1 truncate font-semibold text-body">{title || t("huddle.pane")}</h2>
        <Tooltip content={t("huddle.asRoom")} side="bottom">
          <Link
            to="/rooms/$roomId"
            params={{ roomId: huddleId }}
            aria-label={t("huddle.asRoom")}
            className="hit grid size-8.5 place-items-center rounded-control text-text-2 hover:bg-hover"
          >
            <Maximize2 size={16} strokeWidth={1.75} />
          </Link>
        </Tooltip>
        <IconButton label={t("huddle.closePane")} onClick={onClose}>
          <X size={18} strokeWidth={1.75} />
        </IconButton>
      </header>
      {gone ? (
        <Empty title={t("rooms.gone")} hint={t("rooms.goneHint")} />
      ) : (
        <RoomBody roomId={huddleId} room={room} title={title} handle={handle} inPane />
      )}
    </aside>
  );
}

function Header({ room, title, detailsOpen }: { room: Conversation | undefined; title: string; detailsOpen: boolean }) {
  const t = useT();
  const self = useSelf();
  const other = room ? counterpart(room, self.id) : null;
  return (
    <header className="flex h-13 shrink-0 items-center gap-2 border-line border-b pr-2 pl-2 sm:pl-4">
      <Link
        to="/"
        aria-label={t("shell.backToRooms")}
        className="hit grid size-9 place-items-center rounded-control text-text-2 hover:bg-hover md:hidden"
      >
        <ChevronLeft size={20} strokeWidth={1.75} />
      </Link>
      {room && (
        <button
          type="button"
          aria-expanded={detailsOpen}
          onClick={() => setShell({ details: !detailsOpen })}
          className="ring-inset-focus -ml-1 flex min-w-0 items-center gap-2.5 rounded-control px-1.5 py-1 text-left hover:bg-hover"
        >
          {other ? (
            <OtherFace id={other.id} name={title} kind={other.type === "agent" ? "agent" : "human"} src={other.avatarUrl} />
          ) : (
            <Avatar id={room.id} name={title} kind="group" src={room.avatarUrl} size={30} />
          )}
          <span className="min-w-0">
            <h1 className="truncate font-semibold text-body leading-5">{title}</h1>
            <span className="block truncate text-meta text-text-3">
              <RoomStatus room={room} selfId={self.id} />
              <span className="sr-only">{t("rooms.details")}</span>
            </span>
          </span>
        </button>
      )}
      <span className="flex-1" />
      {room && (
        <Tooltip content={t("rooms.details")} keys={["Mod", "I"]} side="bottom">
          <IconButton label={t("rooms.details")} pressed={detailsOpen} onClick={() => setShell({ details: !detailsOpen })}>
            <PanelRight size={18} strokeWidth={1.75} />
          </IconButton>
        </Tooltip>
      )}
    </header>
  );
}

function OtherFace(props: { id: string; name: string; kind: "human" | "agent"; src: string | null | undefined }) {
  return <Avatar {...props} size={30} presence={usePresence(props.id)} />;
}

type ConversationProps = {
  roomId: string;
  room: Conversation | undefined;
  title: string;
  handle: ReturnType<typeof useRoom>;
  /** Opens a huddle of the room beside it; without it a huddle opens as a page. */
  openHuddle?: (id: string) => void;
  shownHuddle?: string | null;
  inPane?: boolean;
};

function RoomBody({ roomId, room, title, handle, openHuddle, shownHuddle = null, inPane = false }: ConversationProps) {
  const t = useT();
  const self = useSelf();
  const navigate = useNavigate();
  const actions = useRoomActions(roomId);
  const list = useConversations();
  const streams = useRoomStreams(roomId);
  const activity = useRoomActivity(roomId);
  const receiptsOf = useReceipts(roomId, room);
  const { state } = useConnection();
  const huddles = useHuddles(roomId);
  const marks = useMemo(
    () =>
      [...huddles.values()]
        .map((h) => ({ id: h.id, anchorId: huddleOf(h)?.anchorId ?? "", at: h.insertedAt }))
        .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : a.id < b.id ? -1 : 1)),
    [huddles],
  );
  const huddle = huddleOf(room);
  const above = useConversation(huddle?.sourceId ?? roomId);
  const mayWrite = !room || !huddle || (huddle.status === "open" && seatOf(room, self.id) === "member");
  const composer = useRef<ComposerHandle>(null);
  const [reply, setReply] = useState<TimelineMessage | null>(null);
  const people = usePeople(room, self.id);
  const members = useMemo(() => people.filter((p) => !p.outside), [people]);
  const everybody = useMemo(() => [...members, { id: self.id, displayName: self.displayName }], [members, self.id, self.displayName]);
  const avatars = useMemo(() => new Map((room?.members ?? []).map((m) => [m.participantId, m.participant?.avatarUrl])), [room?.members]);
  const avatarOf = useCallback((id: string) => avatars.get(id), [avatars]);

  useEffect(() => {
    // On a phone the keyboard would cover half of what was just opened.
    if (!window.matchMedia("(pointer: coarse)").matches) composer.current?.focus();
  }, []);

  const manages = room !== undefined && room.type !== "direct" && mayManage(room, self.id);
  const agents = useAgents();
  const myAgents = useMemo(() => new Set(agents.map((a) => a.id)), [agents]);
  const handlers = useMemo(() => {
    const report = (result: { message: string } | null) => {
      if (result) toast({ title: t("error.action"), detail: result.message, tone: "bad" });
    };
    return {
      reply: (m: TimelineMessage) => setReply(m),
      retry: actions.retry,
      discard: actions.discard,
      remove: (m: TimelineMessage) => void actions.deleteMessage(m.id).then(report),
      react: (m: TimelineMessage, emoji: string, on: boolean) => void actions.react(m.id, emoji, on).then(report),
      // Whoever shared them, the owner of the agent that did, an administrator of a group.
      mayDeleteFiles: (m: TimelineMessage) => m.senderId === self.id || manages || myAgents.has(m.senderId ?? ""),
    };
  }, [actions, t, self.id, manages, myAgents]);

  const stop = async (agentId: string | null) => {
    try {
      const done = await actions.stop(agentId ? { agentId } : {});
      if (done.stale) toast({ title: t("activity.stopFailed"), detail: t("activity.stale") });
    } catch (e) {
      toast({ title: t("activity.stopFailed"), detail: errorLine(e), tone: "bad" });
    }
  };

  // Where reading stopped is known once the room's entry is: the timeline opens there, and only once.
  const ready = handle.status === "ready" && (room !== undefined || list.status === "error");
  const readSeq = useRef<number | null | undefined>(undefined);
  if (ready && readSeq.current === undefined) readSeq.current = handle.readUpTo === null ? null : (room?.lastReadSeq ?? null);
  const showHuddle = (id: string) => (openHuddle ? openHuddle(id) : void navigate({ to: "/rooms/$roomId", params: { roomId: id } }));
  return (
    <DropZone onFiles={mayWrite ? (files) => composer.current?.add(files) : null}>
      {room && huddle && (
        <HuddleBar room={room} huddle={huddle} sourceTitle={inPane ? null : above ? roomTitle(above, self.id) : ""} selfId={self.id} />
      )}
      {ready ? (
        <TimelineView
          roomId={roomId}
          title={title}
          items={handle.items}
          streams={streams}
          selfId={self.id}
          people={everybody}
          avatarOf={avatarOf}
          readUpTo={handle.readUpTo}
          readSeq={readSeq.current}
          hasOlder={handle.hasOlder}
          loadingOlder={handle.loadingOlder}
          olderError={handle.olderError !== null}
          loadOlder={handle.loadOlder}
          handlers={handlers}
          onSeenEnd={actions.markRead}
          beginning={room ? <RoomBeginning room={room} title={title} selfId={self.id} empty={handle.items.length === 0} /> : null}
          taskCard={taskCard}
          taskNote={taskNote}
          huddles={marks}
          huddleCard={(id) => {
            const h = huddles.get(id);
            return h ? <HuddleCard room={h} open={shownHuddle === id} onOpen={showHuddle} /> : null;
          }}
          receiptsOf={receiptsOf}
          errorActions={(m) =>
            m.senderId && m.senderId !== self.id ? (
              <Button size="sm" onClick={() => void navigate({ href: `/agents/${m.senderId}` })}>
                {t("failure.openAgent")}
              </Button>
            ) : null
          }
        />
      ) : handle.status === "error" ? (
        <ErrorState
          className="min-h-0 flex-1"
          title={t("timeline.loadFailed")}
          requestId={handle.error?.requestId || undefined}
          onRetry={handle.retry}
        />
      ) : (
        <TimelineSkeleton />
      )}
      {room && <AsleepNote room={room} selfId={self.id} />}
      <RoomRequests roomId={roomId} />
      <ActivityDock rows={activity} avatarOf={avatarOf} onStop={stop} />
      {mayWrite ? (
        <div data-composer="">
          <Composer
            roomId={roomId}
            title={title}
            people={people}
            reply={reply ? { id: reply.id, name: senderName(reply), text: firstLine(reply.content) } : null}
            onCancelReply={() => setReply(null)}
            onSend={(content, files) => {
              actions.send({ content, files, ...(reply ? { parentMessageId: reply.id } : {}) });
              setReply(null);
            }}
            onTyping={actions.typing}
            offline={state === "offline"}
            handle={composer}
          />
        </div>
      ) : (
        room && huddle && <HuddleFoot room={room} huddle={huddle} selfId={self.id} />
      )}
    </DropZone>
  );
}

/** Who may be mentioned: the others in the room, then own agents outside (a mention brings them in; not into a direct room). */
function usePeople(room: Conversation | undefined, selfId: string): Candidate[] {
  const agents = useAgents();
  return useMemo(() => {
    const out: Candidate[] = [];
    const inside = new Set<string>();
    for (const m of room?.members ?? []) {
      inside.add(m.participantId);
      if (m.participantId === selfId || !m.participant) continue;
      out.push({
        id: m.participantId,
        displayName: m.participant.displayName,
        kind: m.participant.type === "agent" ? "agent" : "human",
        avatarUrl: m.participant.avatarUrl,
      });
    }
    if (room && room.type !== "direct") {
      for (const a of agents) {
        if (inside.has(a.id) || a.status === "deactivated") continue;
        out.push({ id: a.id, displayName: a.displayName, kind: "agent", avatarUrl: a.avatarUrl, outside: true });
      }
    }
    return out;
  }, [room, agents, selfId]);
}
