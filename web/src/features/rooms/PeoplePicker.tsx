import { Check, X } from "lucide-react";
import { type KeyboardEvent, useId, useState } from "react";
import type { Participant } from "#/api/types";
import { AgentBadge } from "#/components/AgentBadge";
import { Avatar } from "#/components/ui/avatar";
import { useT } from "#/i18n";
import { errorLine } from "#/lib/errorLine";
import { nameRank } from "#/lib/mention";
import { isAddress, usePeopleSearch } from "./data";

type Props = {
  people: readonly Participant[];
  picked: readonly Participant[];
  onChange: (picked: Participant[]) => void;
  label: string;
};

/** Chooses people and agents: type a name, or the e-mail address of somebody new; Enter takes, Backspace gives back. */
export function PeoplePicker({ people, picked, onChange, label }: Props) {
  const t = useT();
  const id = useId();
  const [query, setQuery] = useState("");
  const [active, setActive] = useState(0);
  const chosen = new Set(picked.map((p) => p.id));
  const term = query.trim();
  const search = usePeopleSearch(term);
  const known = new Set(people.map((p) => p.id));
  const strangers = isAddress(term) ? (search.data ?? []) : [];
  const found = [
    ...strangers.map((s) => people.find((p) => p.id === s.id) ?? s),
    ...people.filter((p) => nameRank(p.displayName, term) >= 0 && !strangers.some((s) => s.id === p.id)),
  ];
  const at = Math.min(active, Math.max(0, found.length - 1));
  const toggle = (p: Participant) => {
    onChange(chosen.has(p.id) ? picked.filter((x) => x.id !== p.id) : [...picked, p]);
    setQuery("");
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    if (event.nativeEvent.isComposing || event.keyCode === 229) return;
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step && found.length) {
      event.preventDefault();
      setActive((at + step + found.length) % found.length);
    } else if (event.key === "Enter" && found[at]) {
      event.preventDefault();
      toggle(found[at]);
    } else if (event.key === "Backspace" && query === "" && picked.length) onChange(picked.slice(0, -1));
  };
  return (
    <div className="flex flex-col gap-1.5">
      <label htmlFor={id} className="font-medium text-side">
        {label}
      </label>
      <div className="flex min-h-9 flex-wrap items-center gap-1 rounded-control border border-line-strong/70 bg-raised px-1.5 py-1 focus-within:border-accent focus-within:shadow-[0_0_0_1px_var(--accent)]">
        {picked.map((p) => (
          <span key={p.id} className="flex h-6.5 max-w-full items-center gap-1.5 rounded-full bg-accent-soft pl-1 text-[13px]">
            <Avatar id={p.id} name={p.displayName} kind={p.type === "agent" ? "agent" : "human"} src={p.avatarUrl} size={18} />
            <span className="min-w-0 truncate">{p.displayName}</span>
            <button
              type="button"
              aria-label={t("rooms.removeChip", { name: p.displayName })}
              onClick={() => toggle(p)}
              className="hit grid size-6 place-items-center rounded-full hover:bg-hover"
            >
              <X size={14} strokeWidth={1.75} />
            </button>
          </span>
        ))}
        <input
          id={id}
          value={query}
          onChange={(e) => {
            setQuery(e.target.value);
            setActive(0);
          }}
          onKeyDown={onKeyDown}
          role="combobox"
          aria-expanded="true"
          aria-controls={`${id}-list`}
          aria-activedescendant={found[at] ? `${id}-${found[at].id}` : undefined}
          placeholder={picked.length ? "" : t("rooms.whoPlaceholder")}
          className="h-6.5 min-w-32 flex-1 bg-transparent px-1.5 text-body outline-none max-sm:text-[16px]"
        />
      </div>
      <div id={`${id}-list`} role="listbox" aria-multiselectable="true" aria-label={label} className="mt-1 max-h-64 overflow-y-auto">
        {found.length === 0 && (
          <p className="px-2 py-3 text-side text-text-3" role="status">
            {search.isError ? errorLine(search.error) : t(emptyWords(term, people.length, search.isFetching))}
          </p>
        )}
        {found.map((p, i) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the keys are those of the text box, which keeps the focus.
          <div
            key={p.id}
            id={`${id}-${p.id}`}
            role="option"
            tabIndex={-1}
            aria-selected={chosen.has(p.id)}
            onMouseDown={(e) => e.preventDefault()}
            onMouseMove={() => setActive(i)}
            onClick={() => toggle(p)}
            className={`flex min-h-10 cursor-pointer items-center gap-2.5 rounded-control px-2 text-side ${i === at ? "bg-hover" : ""}`}
          >
            <Avatar id={p.id} name={p.displayName} kind={p.type === "agent" ? "agent" : "human"} src={p.avatarUrl} size={28} />
            <span className="min-w-0 truncate">{p.displayName}</span>
            {p.type === "agent" && <AgentBadge />}
            {!known.has(p.id) && p.maskedEmail && <span className="truncate text-meta text-text-3">{p.maskedEmail}</span>}
            <span className="flex-1" />
            {chosen.has(p.id) && <Check size={16} strokeWidth={1.75} className="shrink-0 text-accent-text" />}
          </div>
        ))}
      </div>
    </div>
  );
}

function emptyWords(term: string, known: number, searching: boolean) {
  if (isAddress(term)) return searching ? "rooms.searching" : "rooms.noAccount";
  if (term.includes("@")) return "rooms.wholeAddress";
  return known ? "rooms.nobodyMatches" : "rooms.nobodyElse";
}
