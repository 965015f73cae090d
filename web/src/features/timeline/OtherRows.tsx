import { CircleAlert, Info } from "lucide-react";
import { memo, type ReactNode } from "react";
import { useLocale, useT } from "#/i18n";
import { clock, dayLabel, exactTime } from "#/lib/format";
import { failureText, noticeText } from "#/lib/notices";
import { senderName } from "./MessageRow";
import type { TimelineMessage } from "./rows";

export function DayRow({ at }: { at: string }) {
  useLocale();
  return (
    <div className="flex items-center gap-3 px-5 pt-6 pb-1">
      <span className="h-px flex-1 bg-line" />
      <h3 className="font-medium text-meta text-text-2">{dayLabel(at)}</h3>
      <span className="h-px flex-1 bg-line" />
    </div>
  );
}

export function UnreadRow() {
  const t = useT();
  return (
    <div className="flex items-center gap-2.5 px-5 pt-4">
      <span className="h-px flex-1 bg-wait-line" />
      <span className="font-medium text-meta text-wait-text">{t("timeline.unread")}</span>
    </div>
  );
}

export const NoticeRow = memo(function NoticeRow({ message }: { message: TimelineMessage }) {
  useLocale();
  return (
    <div
      data-row=""
      tabIndex={-1}
      title={exactTime(message.insertedAt)}
      className="ring-inset-focus mx-auto flex max-w-xl items-start justify-center gap-2 px-6 pt-3 pb-1 text-center text-[13px] text-text-2 leading-5"
    >
      <Info size={14} strokeWidth={1.75} className="mt-[3px] shrink-0 text-text-3" />
      <span className="text-pretty">{noticeText(message)}</span>
    </div>
  );
});

export const ErrorRow = memo(function ErrorRow({ message, actions }: { message: TimelineMessage; actions?: ReactNode }) {
  const t = useT();
  const failure = failureText(message, senderName(message) || t("common.agent"));
  return (
    <article data-row="" tabIndex={-1} className="ring-inset-focus px-4 pt-3 pb-1 sm:px-5">
      <div className="ml-11 flex max-w-[720px] gap-2.5 rounded-panel border border-bad-line bg-bad-soft px-3 py-2.5 sm:ml-12">
        <CircleAlert size={18} strokeWidth={1.75} className="mt-px shrink-0 text-bad-text" />
        <div className="min-w-0 flex-1 text-side">
          <div className="flex flex-wrap items-baseline gap-x-2">
            <p className="font-medium">{failure.title}</p>
            <time dateTime={message.insertedAt} title={exactTime(message.insertedAt)} className="text-meta text-text-2 tabular-nums">
              {clock(message.insertedAt)}
            </time>
          </div>
          {failure.hint && <p className="mt-0.5 text-pretty text-text-2">{failure.hint}</p>}
          {failure.detail && (
            <details className="group/details mt-1.5">
              <summary className="hit w-fit cursor-pointer text-meta text-text-2 underline underline-offset-2">{t("failure.details")}</summary>
              <pre className="mt-1.5 max-h-60 overflow-auto whitespace-pre-wrap font-mono text-[12.5px] leading-[18px]">{failure.detail}</pre>
            </details>
          )}
          {actions && <div className="mt-2 flex flex-wrap gap-2">{actions}</div>}
        </div>
      </div>
    </article>
  );
});
