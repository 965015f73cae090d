import { CloudOff, RotateCw } from "lucide-react";
import { useEffect, useState } from "react";
import { Spinner } from "#/components/ui/spinner";
import { tn, useLocale, useT } from "#/i18n";
import { useConnection } from "#/realtime/hooks";

/** A short break is nobody's business: the banner comes after this long. */
const GRACE_MS = 1200;

/** Says that the connection is away, what still works, and when the next try is. Nothing while all is well. */
export function ConnectionBanner() {
  const t = useT();
  useLocale();
  const { state, since, retryAt, queued, retryNow } = useConnection();
  const [now, setNow] = useState(() => Date.now());
  const well = state === "online";
  useEffect(() => {
    if (well) return;
    setNow(Date.now());
    const timer = window.setInterval(() => setNow(Date.now()), 500);
    return () => window.clearInterval(timer);
  }, [well]);
  const late = !well && now - since >= (state === "connecting" ? 2500 : GRACE_MS);
  const wait = retryAt === null ? 0 : Math.ceil((retryAt - now) / 1000);
  return (
    <div role="status" className="shrink-0">
      {late && (
        <div className="flex min-h-9 animate-fade flex-wrap items-center justify-center gap-x-3 gap-y-0.5 bg-wait-soft px-4 py-1.5 text-[13px] text-wait-text leading-5">
          <span className="flex items-center gap-2 font-medium">
            {state === "offline" ? <CloudOff size={16} strokeWidth={1.75} /> : <Spinner size={14} />}
            {t(`shell.${state}`)}
          </span>
          {state === "offline" && <span>{t("shell.offlineHint")}</span>}
          {state === "reconnecting" && (
            <span className="tabular-nums">{wait > 0 ? t("shell.reconnectingIn", { n: wait }) : t("shell.reconnectingNow")}</span>
          )}
          {queued > 0 && <span>{tn("shell.queued", queued)}</span>}
          {state === "reconnecting" && wait > 0 && (
            <button type="button" onClick={retryNow} className="hit inline-flex items-center gap-1 font-medium underline underline-offset-2">
              <RotateCw size={14} strokeWidth={1.75} />
              {t("shell.retryNow")}
            </button>
          )}
        </div>
      )}
    </div>
  );
}
