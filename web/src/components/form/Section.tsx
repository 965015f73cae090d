import { type ReactNode, useId } from "react";
import { cx } from "#/lib/cx";

type Props = { title: ReactNode; hint?: ReactNode; action?: ReactNode; children: ReactNode; tone?: "plain" | "danger"; className?: string };

/** A titled part of a settings or agent page. */
export function Section({ title, hint, action, children, tone = "plain", className }: Props) {
  const id = useId();
  return (
    <section aria-labelledby={id} className={cx("border-line border-t py-6 first:border-t-0 first:pt-0", className)}>
      <div className="mb-3 flex items-start justify-between gap-3">
        <div className="min-w-0">
          <h2 id={id} className={cx("font-semibold text-title", tone === "danger" && "text-bad-text")}>
            {title}
          </h2>
          {hint && <p className="mt-0.5 max-w-prose text-pretty text-side text-text-2">{hint}</p>}
        </div>
        {action}
      </div>
      {children}
    </section>
  );
}
