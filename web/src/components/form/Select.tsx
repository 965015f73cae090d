import { ChevronDown } from "lucide-react";
import type { ComponentProps } from "react";
import { cx } from "#/lib/cx";

/** The platform's own list, so that phones and screen readers bring theirs. */
export function Select({ className, children, ...rest }: ComponentProps<"select">) {
  return (
    <span className="relative block">
      <select
        className={cx(
          "h-9 w-full appearance-none truncate rounded-control border border-line-strong/70 bg-raised pr-9 pl-3 text-body text-text transition-colors",
          "hover:border-line-strong focus-visible:border-accent focus-visible:outline-offset-0 disabled:opacity-60 aria-invalid:border-bad",
          className,
        )}
        {...rest}
      >
        {children}
      </select>
      <ChevronDown size={16} strokeWidth={1.75} className="pointer-events-none absolute top-2.5 right-2.5 text-text-3" aria-hidden="true" />
    </span>
  );
}
