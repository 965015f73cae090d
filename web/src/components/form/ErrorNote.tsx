import { CircleAlert, Copy, RotateCw } from "lucide-react";
import { Button } from "#/components/ui/button";
import { useT } from "#/i18n";
import { copyText } from "#/lib/clipboard";
import { cx } from "#/lib/cx";
import { errorWords } from "#/lib/errorText";

type Props = { error: unknown; area?: string; onRetry?: () => void; className?: string };

/** A failed action, said where it failed: what happened, what to do, and the request id for whoever is asked for help. */
export function ErrorNote({ error, area, onRetry, className }: Props) {
  const t = useT();
  if (!error) return null;
  const words = errorWords(error, area);
  return (
    <div role="alert" className={cx("flex gap-2.5 rounded-control border border-bad-line bg-bad-soft px-3 py-2.5 text-side", className)}>
      <CircleAlert size={16} strokeWidth={1.75} className="mt-0.5 shrink-0 text-bad-text" aria-hidden="true" />
      <div className="min-w-0 flex-1">
        <p className="font-medium text-bad-text">{words.title}</p>
        {words.hint && <p className="mt-0.5 text-text-2">{words.hint}</p>}
        {(onRetry || words.requestId) && (
          <div className="mt-1.5 -ml-2 flex flex-wrap items-center gap-1">
            {onRetry && (
              <Button size="sm" variant="quiet" onClick={onRetry}>
                <RotateCw size={14} strokeWidth={1.75} />
                {t("common.retry")}
              </Button>
            )}
            {words.requestId && (
              <Button size="sm" variant="quiet" onClick={() => void copyText(words.requestId ?? "")}>
                <Copy size={14} strokeWidth={1.75} />
                {t("error.copyRequestId")}
              </Button>
            )}
          </div>
        )}
      </div>
    </div>
  );
}
