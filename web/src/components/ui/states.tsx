import { Copy, RotateCw } from "lucide-react";
import type { ReactNode } from "react";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { Button } from "./button";

/** A grey block in the shape of what is coming. */
export function Skeleton({ className }: { className?: string }) {
  return <span aria-hidden="true" className={cx("block animate-breathe rounded-control bg-hover", className)} />;
}

type EmptyProps = { icon?: ReactNode; title: ReactNode; hint?: ReactNode; action?: ReactNode; className?: string };

/** One sentence and at most one action, where a list or page has nothing to show. */
export function Empty({ icon, title, hint, action, className }: EmptyProps) {
  return (
    <div className={cx("flex flex-col items-center justify-center gap-2 px-6 py-10 text-center", className)}>
      {icon && <div className="mb-1 text-text-3">{icon}</div>}
      <p className="font-medium text-body">{title}</p>
      {hint && <p className="max-w-sm text-pretty text-side text-text-2">{hint}</p>}
      {action && <div className="mt-3">{action}</div>}
    </div>
  );
}

type ErrorProps = { title?: ReactNode; hint?: ReactNode; requestId?: string | undefined; onRetry?: () => void; className?: string };

/** What happened, what to do, retry, and the request id for whoever is asked for help. */
export function ErrorState({ title, hint, requestId, onRetry, className }: ErrorProps) {
  const t = useT();
  return (
    <div role="alert" className={cx("flex flex-col items-center justify-center gap-2 px-6 py-10 text-center", className)}>
      <p className="font-medium text-body">{title ?? t("error.title")}</p>
      <p className="max-w-sm text-pretty text-side text-text-2">{hint ?? t("error.hint")}</p>
      <div className="mt-3 flex flex-wrap items-center justify-center gap-2">
        {onRetry && (
          <Button onClick={onRetry}>
            <RotateCw size={16} strokeWidth={1.75} />
            {t("common.retry")}
          </Button>
        )}
        {requestId && (
          <Button variant="quiet" aria-label={t("error.copyRequestId")} onClick={() => void navigator.clipboard.writeText(requestId)}>
            <Copy size={14} strokeWidth={1.75} />
            {t("error.requestId", { id: requestId })}
          </Button>
        )}
      </div>
    </div>
  );
}
