import { useNavigate } from "@tanstack/react-router";
import { Bot, Inbox, Keyboard, ListChecks, ListPlus, Moon, PenSquare, Search, Settings, Sun } from "lucide-react";
import { type KeyboardEvent, type ReactNode, useId, useState } from "react";
import { Avatar } from "#/components/ui/avatar";
import { Dialog } from "#/components/ui/dialog";
import { toast } from "#/components/ui/toast";
import { useWaitingCount } from "#/features/decisions/queries";
import { useAgents, useCreateRoom, useRoomEntries } from "#/features/rooms/data";
import { badge } from "#/features/rooms/sections";
import { useT } from "#/i18n";
import { errorLine } from "#/lib/errorLine";
import { nameRank } from "#/lib/mention";
import { counterpart, roomTitle } from "#/lib/rooms";
import { useSelf } from "#/lib/self";
import { resolvedTheme, setThemeChoice } from "#/lib/theme";
import { setShell, useShell } from "./ui-state";

type Item = { key: string; label: string; icon: ReactNode; note?: string; run: () => void };

/** Cmd/Ctrl+K: anywhere in two strokes. */
export function QuickSwitcher() {
  const t = useT();
  const open = useShell("switcher");
  return (
    <Dialog open={open} onOpenChange={(o) => setShell({ switcher: o })} title={t("shell.switch")} bare>
      {open && <SwitcherBody />}
    </Dialog>
  );
}

function SwitcherBody() {
  const t = useT();
  const id = useId();
  const [query, setQuery] = useState("");
  const [active, setActive] = useState(0);
  const groups = useItems(query.trim());
  const flat = groups.flatMap((g) => g.items);
  const at = Math.min(active, Math.max(0, flat.length - 1));
  const run = (item: Item) => {
    setShell({ switcher: false });
    item.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step && flat.length) {
      event.preventDefault();
      const next = (at + step + flat.length) % flat.length;
      setActive(next);
      document.getElementById(`${id}-${next}`)?.scrollIntoView({ block: "nearest" });
    } else if (event.key === "Enter" && flat[at]) {
      event.preventDefault();
      run(flat[at]);
    }
  };
  let index = -1;
  return (
    <div>
      <div className="flex items-center gap-2.5 border-line border-b px-4">
        <Search size={18} strokeWidth={1.75} aria-hidden="true" className="shrink-0 text-text-3" />
        <input
          // biome-ignore lint/a11y/noAutofocus: the dialog exists to be typed into.
          autoFocus
          value={query}
          onChange={(e) => {
            setQuery(e.target.value);
            setActive(0);
          }}
          onKeyDown={onKeyDown}
          role="combobox"
          aria-label={t("shell.switchHint")}
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={flat.length ? `${id}-${at}` : undefined}
          placeholder={t("shell.switchHint")}
          className="h-13 min-w-0 flex-1 bg-transparent text-title outline-none"
        />
      </div>
      <div id={`${id}-list`} role="listbox" aria-label={t("shell.switch")} className="max-h-[min(60dvh,440px)] overflow-y-auto p-2">
        {flat.length === 0 && <p className="px-3 py-6 text-center text-side text-text-3">{t("shell.switchNone")}</p>}
        {groups.map(
          (group) =>
            group.items.length > 0 && (
              // biome-ignore lint/a11y/useSemanticElements: a group inside a listbox, not a fieldset.
              <div key={group.title} role="group" aria-label={group.title}>
                <p className="px-2 pt-2 pb-1 text-meta text-text-3">{group.title}</p>
                {group.items.map((item) => {
                  index++;
                  const here = index;
                  return (
                    // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the text box, which keeps the focus.
                    <div
                      key={item.key}
                      id={`${id}-${here}`}
                      role="option"
                      tabIndex={-1}
                      aria-selected={here === at}
                      onMouseDown={(e) => e.preventDefault()}
                      onMouseMove={() => setActive(here)}
                      onClick={() => run(item)}
                      className="flex min-h-10 cursor-pointer items-center gap-2.5 rounded-control px-2 text-side aria-selected:bg-hover"
                    >
                      <span className="grid w-7 shrink-0 place-items-center text-text-3">{item.icon}</span>
                      <span className="min-w-0 flex-1 truncate">{item.label}</span>
                      {item.note && <span className="shrink-0 text-meta text-text-3 tabular-nums">{item.note}</span>}
                    </div>
                  );
                })}
              </div>
            ),
        )}
      </div>
    </div>
  );
}

function useItems(query: string): { title: string; items: Item[] }[] {
  const t = useT();
  const self = useSelf();
  const navigate = useNavigate();
  const entries = useRoomEntries();
  const agents = useAgents();
  const create = useCreateRoom();
  const waiting = useWaitingCount();
  const go = (roomId: string) => void navigate({ to: "/rooms/$roomId", params: { roomId } });
  const known = new Set<string>();
  const rooms: (Item & { rank: number })[] = [];
  for (const { room, unread } of entries) {
    const other = counterpart(room, self.id);
    if (other) known.add(other.id);
    const label = roomTitle(room, self.id);
    const rank = nameRank(label, query);
    if (rank < 0) continue;
    rooms.push({
      key: room.id,
      label,
      rank,
      icon: (
        <Avatar
          id={other?.id ?? room.id}
          name={label}
          kind={other ? (other.type === "agent" ? "agent" : "human") : "group"}
          src={other ? other.avatarUrl : room.avatarUrl}
          size={26}
        />
      ),
      ...(unread > 0 ? { note: badge(unread) } : {}),
      run: () => go(room.id),
    });
  }
  for (const a of agents) {
    const rank = nameRank(a.displayName, query);
    if (known.has(a.id) || a.status === "deactivated" || rank < 0) continue;
    rooms.push({
      key: a.id,
      label: a.displayName,
      rank,
      icon: <Avatar id={a.id} name={a.displayName} kind="agent" src={a.avatarUrl} size={26} />,
      // The switcher is gone when the answer comes: a promise still goes on then, callbacks of the call would not.
      run: () =>
        void create.mutateAsync({ type: "direct", memberIds: [a.id] }).then(
          (room) => go(room.id),
          (e: unknown) => toast({ title: t("rooms.createFailed"), detail: errorLine(e), tone: "bad" }),
        ),
    });
  }
  // Without a query the order of the list, which is that of the last words, is the best guess.
  if (query) rooms.sort((a, b) => a.rank - b.rank);
  const dark = resolvedTheme() === "dark";
  const commands: Item[] = [
    { key: "new", label: t("rooms.new"), icon: <PenSquare size={18} strokeWidth={1.75} />, run: () => setShell({ newRoom: true }) },
    {
      key: "task",
      label: t("tasks.new"),
      icon: <ListPlus size={18} strokeWidth={1.75} />,
      run: () => void navigate({ to: "/tasks", search: { create: true } }),
    },
    { key: "tasks", label: t("tasks.open"), icon: <ListChecks size={18} strokeWidth={1.75} />, run: () => void navigate({ to: "/tasks" }) },
    {
      key: "decisions",
      label: t("decisions.open"),
      icon: <Inbox size={18} strokeWidth={1.75} />,
      ...(waiting > 0 ? { note: badge(waiting) } : {}),
      run: () => void navigate({ to: "/decisions" }),
    },
    { key: "agents", label: t("shell.agents"), icon: <Bot size={18} strokeWidth={1.75} />, run: () => void navigate({ href: "/agents" }) },
    { key: "settings", label: t("shell.settings"), icon: <Settings size={18} strokeWidth={1.75} />, run: () => void navigate({ href: "/settings" }) },
    {
      key: "theme",
      label: `${t("shell.theme")}: ${t(dark ? "shell.theme.light" : "shell.theme.dark")}`,
      icon: dark ? <Sun size={18} strokeWidth={1.75} /> : <Moon size={18} strokeWidth={1.75} />,
      run: () => setThemeChoice(dark ? "light" : "dark"),
    },
    {
      key: "keys",
      label: t("shell.shortcuts"),
      icon: <Keyboard size={18} strokeWidth={1.75} />,
      note: "?",
      run: () => setShell({ shortcuts: true }),
    },
  ].filter((c) => nameRank(c.label, query) >= 0);
  return [
    { title: t("shell.group.recent"), items: rooms.slice(0, query ? 30 : 9) },
    { title: t("shell.group.commands"), items: commands },
  ];
}
