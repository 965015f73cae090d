import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import type { PasswordVerdict } from "#/lib/password";

const tones = ["bg-line", "bg-bad", "bg-wait", "bg-good", "bg-good"];

/** Four bars and one sentence: the next thing that is missing, or how good it is. */
export function StrengthMeter({ verdict }: { verdict: PasswordVerdict }) {
  const t = useT();
  const first = verdict.missing[0];
  const words = first ? t(`auth.rule.${first}`) : t(`auth.strength.${verdict.score as 2 | 3 | 4}`);
  return (
    <div className="mt-2">
      <div aria-hidden="true" className="flex gap-1">
        {[1, 2, 3, 4].map((n) => (
          <span key={n} className={cx("h-1 flex-1 rounded-full transition-colors", n <= verdict.score ? tones[verdict.score] : "bg-line")} />
        ))}
      </div>
      <p role="status" className="mt-1.5 text-[13px] text-text-3 leading-4.5">
        {words}
      </p>
    </div>
  );
}
