import type { ReactNode } from "react";
import { cx } from "#/lib/cx";

type PageProps = { children: ReactNode; className?: string };

/** A page that scrolls: one width and one distance to the edges for all of them, so that nothing jumps from one to the next. */
export function Page({ children, className }: PageProps) {
  return (
    <div className="h-full overflow-y-auto">
      <PageColumn className={className}>{children}</PageColumn>
    </div>
  );
}

/** The column of a page, for a page that scrolls in its own way. */
export function PageColumn({ children, className }: { children: ReactNode; className?: string | undefined }) {
  return <div className={cx("mx-auto w-full max-w-[860px] px-4 pt-5 pb-14 sm:px-8 sm:pt-8", className)}>{children}</div>;
}

type HeadProps = { title: ReactNode; hint?: ReactNode; actions?: ReactNode };

/** What a page is called, one sentence about it, and what can be done there. */
export function PageHead({ title, hint, actions }: HeadProps) {
  return (
    <header className="mb-6 flex flex-wrap items-start justify-between gap-x-4 gap-y-3">
      <div className="min-w-0 grow basis-64">
        <h1 className="font-semibold text-head">{title}</h1>
        {hint && <p className="mt-0.5 text-pretty text-side text-text-2">{hint}</p>}
      </div>
      {actions && <div className="flex shrink-0 flex-wrap gap-2">{actions}</div>}
    </header>
  );
}
