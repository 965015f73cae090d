/** What a room is called and who is in it, as one of its members sees it. Pure. */
import type { Conversation, Member, Message, Participant } from "#/api/types";
import { t } from "#/i18n";
import { fileCaption } from "./files";
import { nameList } from "./format";
import { plainMentions } from "./mention";
import { failureText, isError, isNotice, noticeText } from "./notices";
import { taskLine } from "./tasks";
import { sessionLine } from "./terminal";

export function othersOf(room: Conversation, selfId: string): Member[] {
  return (room.members ?? []).filter((m) => m.participantId !== selfId);
}

/** The other one of a direct room. */
export function counterpart(room: Conversation, selfId: string): Participant | null {
  if (room.type !== "direct") return null;
  return othersOf(room, selfId)[0]?.participant ?? null;
}

export function roomTitle(room: Conversation, selfId: string): string {
  if (room.type === "direct") {
    const other = counterpart(room, selfId);
    if (other) return other.displayName;
  }
  if (room.title) return room.title;
  const names = othersOf(room, selfId).map((m) => m.participant?.displayName ?? "");
  return nameList(names.filter(Boolean)) || (room.members?.[0]?.participant?.displayName ?? "");
}

/** People first, then agents, each by name, oneself at the top. */
export function sortedMembers(members: readonly Member[], selfId: string): Member[] {
  const rank = (m: Member) => (m.participantId === selfId ? 0 : m.participant?.type === "agent" ? 2 : 1);
  return [...members].sort((a, b) => rank(a) - rank(b) || (a.participant?.displayName ?? "").localeCompare(b.participant?.displayName ?? ""));
}

/** Who may rename, add and remove: administrators of the room and whoever made it. */
export function mayManage(room: Conversation, selfId: string): boolean {
  if (room.createdBy === selfId) return true;
  const role = room.members?.find((m) => m.participantId === selfId)?.role;
  return role === "admin" || role === "owner";
}

/** The text of a message on one line. */
export function previewOf(message: Message): string {
  const line = sessionLine(message) || taskLine(message);
  if (line) return line;
  const files = message.fileAttachments ?? [];
  // With files the readable text is the one for models.
  const caption = message.content.startsWith("{") ? fileCaption(message.content) : message.content;
  const raw = isError(message)
    ? failureText(message, message.sender?.displayName || t("common.agent")).title
    : files.length > 0
      ? caption.trim() || files.map((f) => f.filename ?? "").join(", ")
      : isNotice(message)
        ? noticeText(message)
        : message.readableText || message.content;
  if (!message.readableText && raw.startsWith("{") && message.messageType && message.messageType !== "text") return "";
  return plainMentions(raw)
    .replace(/```[^\n]*\n?/g, " ")
    .replace(/!\[([^\]]*)\]\([^)]*\)|\[([^\]]*)\]\([^)]*\)/g, "$1$2")
    .replace(/^\s{0,3}(#{1,6}|>|[-*+]|\d+\.)\s+/gm, "")
    .replace(/^[ \t]*\|?[ \t:|-]*-{3,}[ \t:|-]*$/gm, "") // the line below a table's head, or a rule
    .replace(/^[ \t]*\|(.*)\|[ \t]*$/gm, (_, cells: string) =>
      cells
        .split("|")
        .map((c) => c.trim())
        .filter(Boolean)
        .join(", "),
    )
    .replace(/\*\*|__|`/g, "")
    .replace(/\s+/g, " ")
    .trim()
    .slice(0, 200);
}
