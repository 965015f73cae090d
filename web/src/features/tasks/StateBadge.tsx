import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { stateWords, type Tone, toneOf } from "./states";

const tones: Record<Tone, string> = {
  calm: "border-line-strong/40 text-text-2",
  busy: "border-accent text-accent-text",
  wait: "border-wait-line text-wait-text",
  good: "border-line-strong/40 text-text",
  bad: "border-bad-line text-bad-text",
};

/** How a task stands, in words; the colour only repeats them. */
export function StateBadge({
  status,
  endKind,
  working = false,
  forYou = false,
}: {
  status: string;
  endKind?: string | null | undefined;
  working?: boolean;
  /** It waits for the one who reads this. */
  forYou?: boolean;
}) {
  const t = useT();
  return (
    <span
      className={cx(
        "inline-flex max-w-full shrink-0 items-center gap-1.5 rounded-full border px-2 py-px text-meta leading-5",
        tones[forYou ? "wait" : toneOf(status, endKind ?? null)],
      )}
    >
      {working && <span aria-hidden="true" className="size-1.5 animate-breathe rounded-full bg-current" />}
      {forYou ? t("tasks.waitsForYou") : stateWords(status, endKind ?? null)}
    </span>
  );
}
