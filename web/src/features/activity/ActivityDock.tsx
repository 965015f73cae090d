import { ChevronDown, ChevronUp, Square } from "lucide-react";
import { useEffect, useState } from "react";
import { Avatar } from "#/components/ui/avatar";
import { Button, IconButton } from "#/components/ui/button";
import { useLocale, useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { elapsed } from "#/lib/format";
import { type ActivityRow, canStop, isMoving, rowText, summary } from "./summary";

type Props = {
  rows: readonly ActivityRow[];
  avatarOf: (id: string) => string | null | undefined;
  onStop: (agentId: string | null) => Promise<void>;
};

/** One line between timeline and composer: who is thinking, writing, typing. It unfolds to one line each. Empty, it keeps its height. */
export function ActivityDock({ rows, avatarOf, onStop }: Props) {
  const t = useT();
  useLocale();
  const [open, setOpen] = useState(false);
  const [stopping, setStopping] = useState<string | null>(null);
  const many = rows.length > 1;
  const stoppable = rows.filter(canStop);
  const only = stoppable.length === 1 ? stoppable[0] : undefined;
  const stop = async (agentId: string | null) => {
    setStopping(agentId ?? "all");
    try {
      await onStop(agentId);
    } finally {
      setStopping(null);
    }
  };
  return (
    <section
      aria-label={t("activity.label")}
      className="mx-auto min-h-7.5 w-[calc(100%-var(--scrollbar,0px))] max-w-[1120px] shrink-0 px-4 text-[13px] text-text-2 sm:px-5"
    >
      {rows.length > 0 && (
        <div className="flex h-7.5 items-center gap-2">
          <span className="flex -space-x-1.5">
            {rows.slice(0, 4).map((row) => (
              <Face key={row.participantId} row={row} src={avatarOf(row.participantId)} />
            ))}
          </span>
          <span className="min-w-0 truncate">{summary(rows)}</span>
          {rows.length === 1 && rows[0] && <Elapsed row={rows[0]} />}
          {many && (
            <IconButton size="sm" label={t(open ? "activity.fold" : "activity.unfold")} aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? <ChevronDown size={16} strokeWidth={1.75} /> : <ChevronUp size={16} strokeWidth={1.75} />}
            </IconButton>
          )}
          <span className="flex-1" />
          {only && (
            <StopButton
              label={t("activity.stopOne", { name: only.name })}
              text={t("activity.stop")}
              busy={stopping !== null}
              onPress={() => void stop(only.participantId)}
            />
          )}
          {stoppable.length > 1 && (
            <StopButton label={t("activity.stopAll")} text={t("activity.stopAll")} busy={stopping === "all"} onPress={() => void stop(null)} />
          )}
        </div>
      )}
      {many && open && (
        <ul className="animate-fade border-line border-t py-1">
          {rows.map((row) => (
            <li key={row.participantId} className="flex h-8 items-center gap-2">
              <Face row={row} src={avatarOf(row.participantId)} />
              <span className="min-w-0 truncate">{rowText(row)}</span>
              <Elapsed row={row} />
              <span className="flex-1" />
              {canStop(row) && (
                <StopButton
                  label={t("activity.stopOne", { name: row.name })}
                  text={t("activity.stop")}
                  busy={stopping === row.participantId || stopping === "all"}
                  onPress={() => void stop(row.participantId)}
                />
              )}
            </li>
          ))}
        </ul>
      )}
      <p aria-live="polite" className="sr-only">
        {rows.length > 0 ? summary(rows) : ""}
      </p>
    </section>
  );
}

function Face({ row, src }: { row: ActivityRow; src: string | null | undefined }) {
  return (
    <span className={cx("ring-2 ring-page", row.kind === "human" ? "rounded-full" : "rounded-[7px]", isMoving(row) && "animate-breathe")}>
      <Avatar id={row.participantId} name={row.name} kind={row.kind} src={src} size={20} className="block" />
    </span>
  );
}

function Elapsed({ row }: { row: ActivityRow }) {
  const [now, setNow] = useState(() => Date.now());
  const start = row.startedAt;
  const shown = row.kind === "agent" && !row.done && start !== null;
  useEffect(() => {
    if (!shown) return;
    const timer = window.setInterval(() => setNow(Date.now()), 1000);
    return () => window.clearInterval(timer);
  }, [shown]);
  if (!shown || now - start < 3000) return null;
  return <span className="shrink-0 text-meta text-text-3 tabular-nums">{elapsed(now - start)}</span>;
}

function StopButton({ label, text, busy, onPress }: { label: string; text: string; busy: boolean; onPress: () => void }) {
  return (
    <Button size="sm" variant="quiet" aria-label={label} busy={busy} onClick={onPress} className="h-6.5">
      {!busy && <Square size={12} strokeWidth={2} className="fill-current" />}
      {text}
    </Button>
  );
}
