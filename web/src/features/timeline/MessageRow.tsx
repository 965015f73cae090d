import { Link } from "@tanstack/react-router";
import { Ban, Check, Clock, CornerUpLeft, Hourglass, ListChecks, MessagesSquare, TerminalSquare, TriangleAlert, UserX } from "lucide-react";
import { memo, type ReactNode } from "react";
import type { Receipt } from "#/api/types";
import { AgentBadge } from "#/components/AgentBadge";
import { Markdown } from "#/components/markdown/Markdown";
import { Avatar } from "#/components/ui/avatar";
import { Button } from "#/components/ui/button";
import { Spinner } from "#/components/ui/spinner";
import { Tooltip } from "#/components/ui/tooltip";
import { t as say, useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { fileCaption } from "#/lib/files";
import { clock, exactTime, nameList } from "#/lib/format";
import { type Mentionable, plainMentions } from "#/lib/mention";
import { notAnsweredText, typeOf } from "#/lib/notices";
import { FoldedText } from "./FoldedText";
import { MessageActions } from "./MessageActions";
import { MessageFiles, UnsentFiles } from "./MessageFiles";
import type { TimelineMessage } from "./rows";

/** What a message row may ask of its room. */
export interface MessageHandlers {
  reply: (message: TimelineMessage) => void;
  retry: (nonce: string) => void;
  discard: (nonce: string) => void;
  remove: (message: TimelineMessage) => void;
  react: (message: TimelineMessage, emoji: string, on: boolean) => void;
  jumpTo: (message: TimelineMessage) => void;
  /** Whether this person may delete the files of a message; the server decides again. */
  mayDeleteFiles: (message: TimelineMessage) => boolean;
}

type Props = {
  message: TimelineMessage;
  /** Still being written: no actions, no folding, and no word to a screen reader until it is done. */
  growing: boolean;
  first: boolean;
  parent: TimelineMessage | null;
  selfId: string;
  people: readonly Mentionable[];
  handlers: MessageHandlers;
  /** What became of it with agents that read it in a tool of their own. */
  receipts?: readonly Receipt[] | undefined;
};

export const MessageRow = memo(function MessageRow({ message, growing, first, parent, selfId, people, handlers, receipts }: Props) {
  const own = message.senderId === selfId;
  const local = message.local;
  const mentionsMe = !own && mentions(message, selfId);
  return (
    <article
      data-row=""
      tabIndex={-1}
      aria-busy={growing || undefined}
      aria-label={`${senderName(message)}, ${clock(message.insertedAt)}`}
      className={cx(
        "group/row relative flex gap-3 px-4 sm:px-5 ring-inset-focus hover:bg-hover/60 focus-within:bg-hover/60",
        first ? "mt-4 pt-0.5 pb-0.5" : "pt-1.5 pb-0.5",
        mentionsMe && "bg-wait-soft/60 hover:bg-wait-soft focus-within:bg-wait-soft",
      )}
    >
      {mentionsMe && <span aria-hidden="true" className="absolute inset-y-0 left-0 w-0.5 bg-wait" />}
      <div className="w-8 shrink-0 sm:w-9">
        {first ? (
          <Avatar
            id={message.senderId ?? ""}
            name={senderName(message)}
            kind={message.sender?.type === "agent" ? "agent" : "human"}
            src={message.sender?.avatarUrl}
            size={36}
            className="mt-0.5 max-sm:scale-[.89] max-sm:origin-top-left"
          />
        ) : (
          <time
            dateTime={message.insertedAt}
            className="mt-[3.5px] block whitespace-nowrap text-center text-[12px] text-text-3 leading-4 opacity-0 tabular-nums group-hover/row:opacity-100 group-focus-within/row:opacity-100 max-sm:hidden"
          >
            {clock(message.insertedAt).replace(/\s?[AP]M$/i, "")}
          </time>
        )}
      </div>
      {/* Where a row has no line with a name, the menu of a small screen stands beside the text, not on it. */}
      <div className={cx("min-w-0 flex-1", !first && "max-sm:pr-6")}>
        {first && <Header message={message} growing={growing} />}
        {message.parentMessageId && <Quote parent={parent} onJump={() => parent && handlers.jumpTo(parent)} />}
        <div className={cx("wide-reading", local && local.state !== "failed" && "text-text-2")}>
          <Body message={message} growing={growing} selfId={selfId} people={people} />
          <MessageFiles files={message.fileAttachments ?? []} mayDelete={handlers.mayDeleteFiles(message)} />
          {local?.files && <UnsentFiles files={local.files} onStop={local.state === "sending" ? () => handlers.discard(local.nonce) : null} />}
        </div>
        {(message.reactions?.length ?? 0) > 0 && <Reactions message={message} selfId={selfId} people={people} onReact={handlers.react} />}
        <Origin message={message} />
        <State message={message} own={own} people={people} handlers={handlers} receipts={receipts} />
      </div>
      {!local && !growing && <MessageActions message={message} own={own} handlers={handlers} />}
    </article>
  );
});

export function senderName(message: TimelineMessage): string {
  return message.sender?.displayName ?? "";
}

function mentions(message: TimelineMessage, selfId: string): boolean {
  return message.metadata?.mentions?.some((m: { id?: string; participantId?: string }) => (m.participantId ?? m.id) === selfId) ?? false;
}

function Header({ message, growing }: { message: TimelineMessage; growing: boolean }) {
  const t = useT();
  const agent = message.sender?.type === "agent";
  const model = message.metadata?.model;
  return (
    <div className="flex min-w-0 items-baseline gap-2 leading-5.5">
      <span className="min-w-0 truncate font-semibold text-body">{senderName(message) || t("common.unknown")}</span>
      {agent && <AgentBadge />}
      {message.metadata?.source === "terminal" && (
        <Tooltip content={t("message.terminal")}>
          <TerminalSquare size={14} strokeWidth={1.75} aria-label={t("message.terminal")} className="shrink-0 self-center text-text-3" />
        </Tooltip>
      )}
      {growing && <span className="shrink-0 text-accent-text text-meta">{t("activity.now.writing")}</span>}
      <Tooltip content={exactTime(message.insertedAt)}>
        <time dateTime={message.insertedAt} className="shrink-0 text-meta text-text-3 tabular-nums">
          {clock(message.insertedAt)}
        </time>
      </Tooltip>
      {agent && typeof model === "string" && model && <span className="min-w-0 truncate text-meta text-text-3 max-sm:hidden">{model}</span>}
    </div>
  );
}

function Quote({ parent, onJump }: { parent: TimelineMessage | null; onJump: () => void }) {
  const t = useT();
  return (
    <button
      type="button"
      onClick={onJump}
      disabled={!parent}
      className="mt-0.5 mb-1 flex max-w-full items-center gap-1.5 rounded-control border-line border-l-3 bg-sunken py-0.5 pr-2 pl-2 text-left text-[13px] text-text-2 leading-5 hover:not-disabled:bg-hover"
    >
      <CornerUpLeft size={14} strokeWidth={1.75} className="shrink-0 text-text-3" />
      {parent ? (
        <>
          <span className="shrink-0 font-medium">{senderName(parent)}</span>
          <span className="min-w-0 truncate">{firstLine(parent.content)}</span>
        </>
      ) : (
        <span className="text-text-3">{t("message.parentGone")}</span>
      )}
    </button>
  );
}

export function firstLine(text: string): string {
  const line = text.split("\n").find((l) => l.trim()) ?? "";
  return plainMentions(line.replace(/^[#>\-*\s]+|[*_`]+/g, "")).slice(0, 160);
}

function Body({ message, growing, selfId, people }: { message: TimelineMessage; growing: boolean; selfId: string; people: readonly Mentionable[] }) {
  const t = useT();
  const type = typeOf(message);
  if (type === "ToolCall" || type === "tool_call") {
    return <Quiet>{t("message.toolCall", { tool: toolName(message.content) })}</Quiet>;
  }
  if (type === "ToolResult" || type === "tool_result") {
    return (
      <FoldedText limit={120}>
        <pre className="overflow-x-auto whitespace-pre-wrap font-mono text-[13px] text-text-2 leading-5">{message.content}</pre>
      </FoldedText>
    );
  }
  if (type === "CompactionSummary") return <Quiet>{t("message.compaction")}</Quiet>;
  const structured = message.content.startsWith("{") && type !== "text" && type !== "markdown";
  const files = message.fileAttachments ?? [];
  const source = !structured
    ? message.content
    : files.length > 0
      ? fileCaption(message.content)
      : message.readableText || caption(message.content) || t("message.unsupported");
  return (
    <FoldedText limit={growing ? Number.POSITIVE_INFINITY : message.sender?.type === "agent" ? 2400 : 720}>
      {source && <Markdown source={source} people={people} selfId={selfId} growing={growing} />}
    </FoldedText>
  );
}

function toolName(content: string): string {
  try {
    const call = JSON.parse(content) as { tool?: unknown; name?: unknown };
    return String(call.tool ?? call.name ?? "");
  } catch {
    return "";
  }
}

function caption(content: string): string {
  try {
    const file = JSON.parse(content) as { caption?: unknown; filename?: unknown };
    return [file.caption, file.filename].filter((x) => typeof x === "string" && x).join(" · ");
  } catch {
    return "";
  }
}

function Quiet({ children }: { children: ReactNode }) {
  return <p className="text-side text-text-3">{children}</p>;
}

function Reactions({
  message,
  selfId,
  people,
  onReact,
}: {
  message: TimelineMessage;
  selfId: string;
  people: readonly Mentionable[];
  onReact: MessageHandlers["react"];
}) {
  const t = useT();
  const name = (id: string) => people.find((p) => p.id === id)?.displayName ?? t("common.unknown");
  return (
    <div className="mt-1 flex flex-wrap gap-1">
      {message.reactions?.map((r) => {
        const mine = r.participantIds.includes(selfId);
        const label = t("message.reactedWith", { emoji: r.emoji, names: nameList(r.participantIds.map(name)) });
        return (
          <Tooltip key={r.emoji} content={label}>
            <button
              type="button"
              aria-pressed={mine}
              aria-label={label}
              onClick={() => onReact(message, r.emoji, !mine)}
              className="hit inline-flex h-6.5 items-center gap-1.5 rounded-full border border-line bg-raised px-2 text-[13px] tabular-nums hover:bg-hover aria-pressed:border-accent-line aria-pressed:bg-accent-soft aria-pressed:text-accent-text"
            >
              <span aria-hidden="true">{r.emoji}</span>
              {r.participantIds.length}
            </button>
          </Tooltip>
        );
      })}
    </div>
  );
}

/** A result leads to the task or the huddle that it is of. */
function Origin({ message }: { message: TimelineMessage }) {
  const t = useT();
  const huddle = message.metadata?.["huddle_report"];
  if (typeof huddle === "string") {
    const topic = message.metadata?.["huddle_topic"];
    return (
      <p className="mt-1 text-meta">
        <Link
          to="/rooms/$roomId"
          params={{ roomId: huddle }}
          className="hit inline-flex items-center gap-1.5 rounded-control text-text-3 hover:text-text"
        >
          <MessagesSquare size={14} strokeWidth={1.75} aria-hidden="true" />
          {typeof topic === "string" && topic ? t("huddle.cameOf", { topic }) : t("huddle.cameOfOne")}
        </Link>
      </p>
    );
  }
  const task = message.metadata?.["task_report"];
  if (typeof task !== "string" || message.messageType === "StatusUpdate") return null;
  const asks = typeof message.metadata?.["ask_id"] === "string";
  return (
    <p className="mt-1 text-meta">
      <Link to="/tasks" search={{ task }} className="hit inline-flex items-center gap-1.5 rounded-control text-text-3 hover:text-text">
        <ListChecks size={14} strokeWidth={1.75} aria-hidden="true" />
        {t(asks ? "message.ofTaskAsk" : "message.ofTask")}
      </Link>
    </p>
  );
}

function whyNotSent(error: { code?: string; message?: string } | undefined): string {
  if (error?.code === "file_lost") return say("message.fileLost");
  return error?.message ? say("message.failedWhy", { why: error.message }) : say("message.failed");
}

/** One line below the text while there is something to say about its fate. */
function State({
  message,
  own,
  people,
  handlers,
  receipts,
}: {
  message: TimelineMessage;
  own: boolean;
  people: readonly Mentionable[];
  handlers: MessageHandlers;
  receipts: readonly Receipt[] | undefined;
}) {
  const t = useT();
  const { local } = message;
  if (local?.state === "failed") {
    return (
      <div role="alert" className="mt-1 flex flex-wrap items-center gap-x-2 gap-y-1 text-meta text-bad-text">
        <TriangleAlert size={14} strokeWidth={1.75} className="shrink-0" />
        <span className="min-w-0">{whyNotSent(local.error)}</span>
        <Button size="sm" onClick={() => handlers.retry(local.nonce)}>
          {t("message.retry")}
        </Button>
        <Button size="sm" variant="quiet" onClick={() => handlers.discard(local.nonce)}>
          {t("message.discard")}
        </Button>
      </div>
    );
  }
  if (local?.state === "queued") {
    return (
      <Line icon={<Clock size={14} strokeWidth={1.75} />}>
        {t("message.queued")}
        <button type="button" className="hit ml-2 text-text-2 underline underline-offset-2" onClick={() => handlers.discard(local.nonce)}>
          {t("message.discard")}
        </button>
      </Line>
    );
  }
  // Most messages are confirmed before anybody could read "sending": it shows only after a while.
  if (local?.state === "sending") {
    return (
      <div className="h-0 overflow-hidden opacity-0 [animation:late-in_1ms_1.2s_forwards]">
        <Line icon={<Spinner size={12} />}>{t("message.sending")}</Line>
      </div>
    );
  }
  const unrouted = message.metadata?.["unrouted_asides"];
  if (Array.isArray(unrouted) && unrouted.length > 0) {
    return (
      <>
        {unrouted.map((u: { names?: unknown; unknown?: unknown }) => {
          const words = (list: unknown) => nameList((Array.isArray(list) ? list : []).filter((n): n is string => typeof n === "string"));
          const names = words(u.names);
          const missing = words(u.unknown);
          return (
            <Line key={`${names} ${missing}`} icon={<UserX size={14} strokeWidth={1.75} />}>
              {missing ? t("huddle.unrouted", { names, unknown: missing }) : t("huddle.unroutedOther", { names })}
            </Line>
          );
        })}
      </>
    );
  }
  const waiting = message.metadata?.awaiting_agent;
  if (waiting) {
    const name = waiting.agent_name || people.find((p) => p.id === waiting.agent_id)?.displayName || t("common.agent");
    return (
      <Line tone="wait" icon={<Hourglass size={14} strokeWidth={1.75} />}>
        {t(waiting.task_id ? "message.awaitingTask" : "message.awaiting", { name })}
        {waiting.task_id && (
          <Link to="/tasks" search={{ task: waiting.task_id }} className="hit ml-2 rounded-control underline underline-offset-2">
            {t("message.openTask")}
          </Link>
        )}
      </Line>
    );
  }
  const missed = message.metadata?.not_answered;
  if (missed) {
    const nameOf = (idOrName: string) => people.find((p) => p.id === idOrName)?.displayName ?? (/^[0-9a-f-]{36}$/.test(idOrName) ? "" : idOrName);
    return <Line icon={<Ban size={14} strokeWidth={1.75} />}>{notAnsweredText(missed, nameOf, (names) => nameList(names))}</Line>;
  }
  // Agents that read in a terminal answer there or not at all: that they have read it is all there is to know.
  const waits = (receipts ?? []).filter((r) => r.state === "waiting");
  const read = (receipts ?? []).filter((r) => r.state === "read");
  if (waits.length + read.length > 0) {
    const names = (list: readonly Receipt[]) => nameList(list.map((r) => r.agentName || t("common.agent")));
    return (
      <>
        {waits.length > 0 && (
          <Line tone="wait" icon={<Hourglass size={14} strokeWidth={1.75} />}>
            {t("message.receipt.waiting", { names: names(waits) })}
          </Line>
        )}
        {read.length > 0 && (
          <Line icon={<Check size={14} strokeWidth={1.75} />}>
            <span title={read[0]?.at && exactTime(read[0].at)}>{t("message.receipt.read", { names: names(read) })}</span>
          </Line>
        )}
      </>
    );
  }
  const outside = own ? namesIn(message.metadata?.["unresolved_mentions"]) : [];
  if (outside.length > 0) {
    return (
      <Line icon={<UserX size={14} strokeWidth={1.75} />}>
        {t(outside.length === 1 ? "message.notAdded" : "message.notAddedMany", { names: nameList(outside) })}
      </Line>
    );
  }
  return null;
}

/** The names of a list of mentions in metadata. */
function namesIn(list: unknown): string[] {
  if (!Array.isArray(list)) return [];
  return list.map((m: { displayName?: unknown } | null) => m?.displayName).filter((n): n is string => typeof n === "string" && n !== "");
}

function Line({ icon, tone, children }: { icon: ReactNode; tone?: "wait"; children: ReactNode }) {
  return (
    <p className={cx("mt-1 flex items-center gap-1.5 text-meta", tone === "wait" ? "text-wait-text" : "text-text-3")}>
      <span className="shrink-0">{icon}</span>
      <span className="min-w-0">{children}</span>
    </p>
  );
}
