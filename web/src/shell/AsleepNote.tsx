import { Link } from "@tanstack/react-router";
import { Moon } from "lucide-react";
import type { Conversation } from "#/api/types";
import { useT } from "#/i18n";
import { counterpart } from "#/lib/rooms";
import { useConnection, usePresence, usePresenceKnown } from "#/realtime/hooks";

/** In a direct room with an agent that is offline: says so before somebody waits for an answer, and where to start it. */
export function AsleepNote({ room, selfId }: { room: Conversation; selfId: string }) {
  const other = counterpart(room, selfId);
  return other?.type === "agent" ? <Note id={other.id} name={other.displayName} /> : null;
}

function Note({ id, name }: { id: string; name: string }) {
  const t = useT();
  const presence = usePresence(id);
  const known = usePresenceKnown();
  const { state } = useConnection();
  // Without a connection nothing is known of anybody; the banner says what is.
  if (!known || presence !== "away" || state !== "online") return null;
  return (
    <p className="mx-auto flex w-[calc(100%-var(--scrollbar,0px))] max-w-[1120px] shrink-0 items-start gap-2 px-4 py-1.5 text-[13px] text-text-2 leading-5 sm:px-5">
      <Moon size={14} strokeWidth={1.75} className="mt-[3px] shrink-0 text-text-3" />
      <span className="min-w-0 text-pretty">
        {t("activity.asleep", { name })}{" "}
        <Link
          to="/agents/$agentId"
          params={{ agentId: id }}
          className="whitespace-nowrap rounded-control text-accent-text underline decoration-accent-line underline-offset-2"
        >
          {t("activity.asleepHow")}
        </Link>
      </span>
    </p>
  );
}
