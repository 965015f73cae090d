import { useNavigate, useParams } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { useRoomEntries } from "#/features/rooms/data";
import { getShell, setShell } from "./ui-state";

/** The keys that work everywhere. Keys of a list or a text box live with it. */
export function useShortcuts(): void {
  const navigate = useNavigate();
  const { roomId } = useParams({ strict: false });
  const entries = useRoomEntries();
  const latest = useRef({ roomId, entries });
  latest.current = { roomId, entries };

  useEffect(() => {
    const move = (step: 1 | -1, unreadOnly: boolean) => {
      const { roomId: open, entries: all } = latest.current;
      const at = all.findIndex((e) => e.room.id === open);
      const candidates = all.map((e, i) => ({ e, i })).filter(({ e, i }) => i !== at && (!unreadOnly || e.unread > 0));
      const next =
        step > 0
          ? (candidates.find(({ i }) => i > at) ?? candidates[0])
          : (candidates.findLast(({ i }) => i < at) ?? candidates[candidates.length - 1]);
      if (next) void navigate({ to: "/rooms/$roomId", params: { roomId: next.e.room.id } });
    };
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing) return;
      const mod = event.metaKey || event.ctrlKey;
      const key = event.key.toLowerCase();
      const target = event.target as HTMLElement | null;
      const typing = !!target?.closest("input, textarea, select, [contenteditable]");
      const shell = getShell();
      if (mod && !event.shiftKey && !event.altKey && key === "k") setShell({ switcher: !shell.switcher, shortcuts: false });
      else if (mod && event.shiftKey && key === "o") setShell({ newRoom: true });
      else if (mod && !event.shiftKey && !event.altKey && key === "b") setShell({ sidebar: !shell.sidebar });
      else if (mod && !event.shiftKey && !event.altKey && key === "i" && latest.current.roomId) setShell({ details: !shell.details });
      else if (event.altKey && !mod && (event.key === "ArrowDown" || event.key === "ArrowUp"))
        move(event.key === "ArrowDown" ? 1 : -1, event.shiftKey);
      else if (!typing && !mod && event.key === "?") setShell({ shortcuts: !shell.shortcuts });
      else if (!typing && !mod && !event.altKey && event.key === "/") document.querySelector<HTMLElement>("[data-composer] textarea")?.focus();
      else if (event.key === "Escape" && shell.details && !document.querySelector('[role="dialog"],[role="menu"]')) setShell({ details: false });
      else return;
      event.preventDefault();
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [navigate]);
}
