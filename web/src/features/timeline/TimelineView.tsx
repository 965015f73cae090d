import { ArrowDown } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import type { Receipt } from "#/api/types";
import { Button } from "#/components/ui/button";
import { Spinner } from "#/components/ui/spinner";
import { tn, useLocale, useT } from "#/i18n";
import { type Mentionable, plainMentions } from "#/lib/mention";
import type { Anchor } from "./anchor";
import { type MessageHandlers, MessageRow, senderName } from "./MessageRow";
import { DayRow, ErrorRow, NoticeRow, UnreadRow } from "./OtherRows";
import { buildRows, type HuddleMark, type Row, type TimelineMessage, type TimelineStream } from "./rows";
import { useAnchoredList } from "./useAnchoredList";

export interface TimelineProps {
  roomId: string;
  title: string;
  items: readonly TimelineMessage[];
  streams: readonly TimelineStream[];
  selfId: string;
  people: readonly Mentionable[];
  avatarOf: (id: string) => string | null | undefined;
  readUpTo: string | null | undefined;
  readSeq: number | null | undefined;
  hasOlder: boolean;
  loadingOlder: boolean;
  olderError: boolean;
  loadOlder: () => void;
  handlers: Omit<MessageHandlers, "jumpTo">;
  /** Called while the newest message is on screen. */
  onSeenEnd: () => void;
  /** Shown above the first message of the room. */
  beginning: ReactNode;
  /** Buttons of a row that tells of a failed turn. */
  errorActions?: (message: TimelineMessage) => ReactNode;
  /** The card of a task by its first and its newest row; null when the rows cannot be read. */
  taskCard?: (message: TimelineMessage, latest: TimelineMessage) => ReactNode;
  /** One line that says how a task came to a stop. */
  taskNote?: (message: TimelineMessage) => ReactNode;
  /** What became of a message with the agents that read it elsewhere. */
  receiptsOf?: (messageId: string) => readonly Receipt[];
  huddles?: readonly HuddleMark[];
  huddleCard?: (id: string) => ReactNode;
}

/** Pages fetched by themselves to find where reading stopped. */
const MAX_CHASE = 12;

// Where a reader was when they left a room, for coming back within one visit.
const places = new Map<string, Anchor>();

const guesses: Record<Row["kind"], number> = {
  start: 120,
  day: 44,
  unread: 32,
  message: 84,
  notice: 40,
  task: 92,
  taskNote: 40,
  huddle: 46,
  error: 90,
  stream: 120,
};

export function TimelineView(props: TimelineProps) {
  const {
    roomId,
    title,
    items,
    streams,
    selfId,
    people,
    avatarOf,
    readUpTo,
    readSeq,
    hasOlder,
    loadingOlder,
    olderError,
    loadOlder,
    onSeenEnd,
    huddles,
  } = props;
  const t = useT();
  useLocale();
  const rows = useMemo(
    () => buildRows({ items, streams, selfId, readUpTo, readSeq, reachedStart: !hasOlder, huddles }),
    [items, streams, selfId, readUpTo, readSeq, hasOlder, huddles],
  );
  const keys = useMemo(() => rows.map((r) => r.key), [rows]);

  const [initial] = useState<Anchor | "end">(() => {
    if (keys.includes("unread")) return { key: "unread", top: 72 };
    const place = places.get(roomId);
    return place && keys.includes(place.key) ? place : "end";
  });
  const mayLoad = hasOlder && !loadingOlder && !olderError;
  // While the reading point lies before what is loaded, the list goes after it page by page, but not for ever: then the reader decides.
  const chased = useRef(0);
  const seeking = rows.find((r) => r.kind === "message" || r.kind === "unread")?.kind === "unread";
  const onNearStart = useCallback(
    (byReader: boolean) => {
      if (!mayLoad || (!byReader && seeking && ++chased.current > MAX_CHASE)) return;
      loadOlder();
    },
    [mayLoad, seeking, loadOlder],
  );
  const estimate = useCallback((i: number) => guess(rows[i]), [rows]);
  const list = useAnchoredList({ keys, estimate, initial, onNearStart });
  const { place, toKey, toEnd, pinned, atEnd } = list;

  useEffect(
    () => () => {
      const at = place();
      if (at) places.set(roomId, at);
      else places.delete(roomId);
    },
    [roomId, place],
  );

  // What arrived while the reader was elsewhere.
  const newest = items[items.length - 1];
  const fresh = useFresh(items, pinned, selfId);
  // Who writes wants to see what they wrote: once per message, not again when its state changes.
  const written = newest?.local?.nonce;
  useEffect(() => {
    if (written) toEnd();
  }, [written, toEnd]);
  useEffect(() => {
    if (!(pinned || atEnd) || !newest) return;
    const seen = () => document.hasFocus() && document.visibilityState === "visible" && onSeenEnd();
    seen();
    window.addEventListener("focus", seen);
    document.addEventListener("visibilitychange", seen);
    return () => {
      window.removeEventListener("focus", seen);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [pinned, atEnd, newest, onSeenEnd]);

  const rowsRef = useRef(rows);
  rowsRef.current = rows;
  const jumpTo = useCallback(
    (message: TimelineMessage) => {
      const row = rowsRef.current.find((r) => "message" in r && r.message.id === message.id);
      if (!row) return;
      toKey(row.key, 120);
      // The focus shows which one is meant, and leaves when the reader goes on.
      requestAnimationFrame(() =>
        document.querySelector<HTMLElement>(`[data-key="${CSS.escape(row.key)}"] [data-row]`)?.focus({ preventScroll: true }),
      );
    },
    [toKey],
  );
  const handlers = useMemo(() => ({ ...props.handlers, jumpTo }), [props.handlers, jumpTo]);

  const shown = rows.slice(list.span.start, list.span.end);
  return (
    <div className="relative min-h-0 flex-1">
      <div
        ref={list.scroller}
        onScroll={list.onScroll}
        onKeyDown={onKeys}
        role="log"
        aria-live="off"
        aria-label={t("timeline.label", { room: title })}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
        tabIndex={0}
        className="ring-inset-focus h-full overflow-y-auto overflow-x-hidden [overflow-anchor:none] [scrollbar-gutter:stable]"
      >
        <div ref={list.content} className="mx-auto flex min-h-full w-full max-w-[1120px] flex-col justify-end pb-3">
          {loadingOlder && (
            <p className="flex items-center justify-center gap-2 py-3 text-meta text-text-3">
              <Spinner size={14} /> {t("timeline.loadingOlder")}
            </p>
          )}
          {olderError && (
            <p role="alert" className="flex items-center justify-center gap-3 py-3 text-meta text-bad-text">
              {t("timeline.olderFailed")}
              <Button size="sm" onClick={loadOlder}>
                {t("common.retry")}
              </Button>
            </p>
          )}
          {list.above > 0 && <div aria-hidden="true" className="shrink-0" style={{ height: list.above }} />}
          {shown.map((row) => (
            <div key={row.key} data-key={row.key} className="flow-root shrink-0">
              <RowView
                row={row}
                selfId={selfId}
                people={people}
                handlers={handlers}
                avatarOf={avatarOf}
                beginning={props.beginning}
                errorActions={props.errorActions}
                taskCard={props.taskCard}
                taskNote={props.taskNote}
                huddleCard={props.huddleCard}
                receiptsOf={props.receiptsOf}
              />
            </div>
          ))}
          {list.below > 0 && <div aria-hidden="true" className="shrink-0" style={{ height: list.below }} />}
        </div>
      </div>
      {list.away && (
        <div className="pointer-events-none absolute inset-x-0 bottom-3 grid place-items-center">
          <button
            type="button"
            onClick={toEnd}
            className={`hit pointer-events-auto inline-flex h-8 animate-pop items-center gap-1.5 rounded-full border px-3.5 font-medium text-[13px] shadow-raised ${
              fresh > 0 ? "border-accent bg-accent text-on-accent hover:bg-accent-hover" : "border-line bg-raised text-text hover:bg-hover"
            }`}
          >
            <ArrowDown size={16} strokeWidth={1.75} />
            {fresh > 0 ? tn("timeline.newMessages", fresh) : t("timeline.latest")}
          </button>
        </div>
      )}
      <Announcer items={items} selfId={selfId} />
    </div>
  );
}

function guess(row: Row | undefined): number {
  if (!row) return 80;
  if (row.kind !== "message") return guesses[row.kind];
  // A line of prose holds about 90 characters.
  return (row.first ? 44 : 4) + Math.max(1, Math.ceil(row.message.content.length / 90)) * 23;
}

type RowViewProps = Pick<
  TimelineProps,
  "selfId" | "people" | "avatarOf" | "beginning" | "errorActions" | "taskCard" | "taskNote" | "huddleCard" | "receiptsOf"
> & {
  row: Row;
  handlers: MessageHandlers;
};

function RowView({ row, selfId, people, handlers, avatarOf, beginning, errorActions, taskCard, taskNote, huddleCard, receiptsOf }: RowViewProps) {
  switch (row.kind) {
    case "start":
      return <>{beginning}</>;
    case "day":
      return <DayRow at={row.at} />;
    case "unread":
      return <UnreadRow />;
    case "notice":
      return <NoticeRow message={row.message} />;
    case "task":
      return <>{taskCard?.(row.message, row.latest) ?? <NoticeRow message={row.message} />}</>;
    case "huddle":
      return <>{huddleCard?.(row.id)}</>;
    case "taskNote":
      return <>{taskNote?.(row.message) ?? <NoticeRow message={row.message} />}</>;
    case "error":
      return <ErrorRow message={row.message} actions={errorActions?.(row.message)} />;
    case "stream":
      // The very component that will show the finished message: when it lands, nothing is built anew and a selection survives.
      return (
        <MessageRow
          message={streamMessage(row.stream, people, avatarOf)}
          growing
          first={row.first}
          parent={null}
          selfId={selfId}
          people={people}
          handlers={handlers}
        />
      );
    case "message":
      return (
        <MessageRow
          message={row.message}
          growing={false}
          first={row.first}
          parent={row.parent}
          selfId={selfId}
          people={people}
          handlers={handlers}
          receipts={row.message.local ? undefined : receiptsOf?.(row.message.id)}
        />
      );
  }
}

function streamMessage(stream: TimelineStream, people: readonly Mentionable[], avatarOf: TimelineProps["avatarOf"]): TimelineMessage {
  const displayName = stream.senderName || people.find((p) => p.id === stream.senderId)?.displayName || "";
  return {
    id: stream.streamId,
    conversationId: "",
    senderId: stream.senderId,
    sender: { id: stream.senderId, type: "agent", displayName, avatarUrl: avatarOf(stream.senderId) ?? null },
    content: stream.text,
    metadata: { stream_id: stream.streamId },
    insertedAt: new Date(stream.startedAt).toISOString(),
  };
}

/** How many messages of others came since the reader left the end. */
function useFresh(items: readonly TimelineMessage[], pinned: boolean, selfId: string): number {
  const seen = useRef<string | null>(null);
  const last = items[items.length - 1]?.insertedAt ?? null;
  if (pinned || seen.current === null) seen.current = last;
  let count = 0;
  for (let i = items.length - 1; i >= 0; i--) {
    const item = items[i];
    if (!item || item.insertedAt <= (seen.current ?? "")) break;
    if (item.senderId !== selfId) count++;
  }
  return count;
}

/** Reads new messages of others aloud, once each. The list itself is silent: rows that scrolling draws are no news. */
function Announcer({ items, selfId }: { items: readonly TimelineMessage[]; selfId: string }) {
  const t = useT();
  const last = items[items.length - 1];
  const first = useRef(last?.id);
  const news = last && last.id !== first.current && last.senderId !== selfId && !last.local ? last : null;
  return (
    <p aria-live="polite" className="sr-only">
      {news && t("timeline.said", { name: senderName(news), text: plainMentions(news.content).slice(0, 400) })}
    </p>
  );
}

/** Arrow keys walk through the messages; a letter acts on the one that has the focus. */
function onKeys(event: KeyboardEvent<HTMLElement>): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const box = event.currentTarget;
  const target = event.target as HTMLElement;
  const current = target.closest<HTMLElement>("[data-row]");
  if (event.key === "ArrowUp" || event.key === "ArrowDown") {
    if (target !== box && target !== current) return;
    const all = [...box.querySelectorAll<HTMLElement>("[data-row]")];
    const at = current ? all.indexOf(current) : all.length;
    const next = all[event.key === "ArrowUp" ? at - 1 : at + 1];
    if (!next) return;
    event.preventDefault();
    next.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
    return;
  }
  if (event.key === "Escape" && current) {
    // One step back: to the text box.
    event.preventDefault();
    box.closest("main")?.querySelector<HTMLElement>("[data-composer] textarea")?.focus();
    return;
  }
  if (!current || target !== current) return;
  const actions: Record<string, string> = { r: "reply", c: "copy", Delete: "delete", Enter: "menu" };
  const action = actions[event.key];
  const button = action && current.querySelector<HTMLElement>(`[data-action="${action}"]`);
  if (!button) return;
  event.preventDefault();
  if (action === "menu") {
    button.focus();
    button.dispatchEvent(new window.KeyboardEvent("keydown", { key: "Enter", bubbles: true }));
  } else button.click();
}
