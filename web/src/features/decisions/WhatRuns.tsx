import { useLayoutEffect, useRef, useState } from "react";
import type { PermissionRequest } from "#/api/types";
import { tn, useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { type DiffLine, shownRequest, visible } from "./lists";

const block =
  "whitespace-break-spaces wrap-anywhere rounded-control border border-line bg-sunken px-3 py-2 text-left font-mono text-[13px] leading-5 [unicode-bidi:isolate]";

/** Text that is to be read to the letter, all of it on the screen. */
export function Exact({ text, label }: { text: string; label: string }) {
  return (
    <figure dir="ltr" aria-label={label} className={block}>
      {visible(text)}
    </figure>
  );
}

const FOLDED = 12;
/** A few lines more are shown rather than folded away. */
const SLACK = 3;

/** As `Exact`, but a long text is folded until it is opened. `onHidden` hears before the first paint, and after each change, whether a part is not on the screen. */
function Folded({ text, label, onHidden }: { text: string; label: string; onHidden: (hidden: boolean) => void }) {
  const t = useT();
  const inner = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  const [more, setMore] = useState(0);
  const tell = useRef(onHidden);
  tell.current = onHidden;
  useLayoutEffect(() => {
    const el = inner.current;
    if (!el) return;
    const measure = () => {
      const lines = Math.ceil(el.offsetHeight / Number.parseFloat(getComputedStyle(el).lineHeight) - 0.05);
      const left = open || lines <= FOLDED + SLACK ? 0 : lines - FOLDED;
      setMore(left);
      tell.current(left > 0);
    };
    measure();
    const watch = new ResizeObserver(measure);
    watch.observe(el);
    return () => watch.disconnect();
  }, [open]);
  return (
    <div>
      <figure dir="ltr" aria-label={label} className={cx(block, more > 0 && "rounded-b-none border-b-0 pb-0")}>
        <div className={cx(more > 0 && "overflow-hidden")} style={more > 0 ? { maxHeight: `${FOLDED}lh` } : undefined}>
          <div ref={inner}>{visible(text)}</div>
        </div>
      </figure>
      {more > 0 && (
        <button
          type="button"
          aria-expanded={false}
          onClick={() => setOpen(true)}
          className="ring-inset-focus w-full rounded-b-control border border-wait-line bg-wait-soft px-3 py-2 text-left font-medium text-side text-wait-text hover:underline"
        >
          {tn("decisions.moreLines", more)}
          <span className="sr-only">: {t("decisions.unread")}</span>
        </button>
      )}
    </div>
  );
}

type Props = {
  request: PermissionRequest;
  /** Whether a part of what would run is not on the screen yet: nobody says yes to it before. */
  onHidden?: (hidden: boolean) => void;
};

/** All of what would run: the part that matters first, the rest, and the bytes that the answer is about. */
export function WhatRuns({ request, onHidden }: Props) {
  const t = useT();
  const [exact, setExact] = useState(false);
  const parts = useRef({ main: false, rest: false });
  const shown = shownRequest(request);
  const hear = (part: "main" | "rest") => (hidden: boolean) => {
    parts.current[part] = hidden;
    onHidden?.(parts.current.main || parts.current.rest);
  };
  return (
    <div className="flex flex-col gap-2">
      <Folded key={shown.main} label={t("decisions.what")} text={shown.main} onHidden={hear("main")} />
      {shown.rest && (
        <>
          <p className="text-meta text-text-3">{t("decisions.also")}</p>
          <Folded key={shown.rest} label={t("decisions.also")} text={shown.rest} onHidden={hear("rest")} />
        </>
      )}
      {request.action && (
        <div>
          <button
            type="button"
            aria-expanded={exact}
            onClick={() => setExact(!exact)}
            className="hit rounded-control text-meta text-text-3 underline-offset-2 hover:text-text hover:underline"
          >
            {t("decisions.exact")}
          </button>
          {exact && (
            <div className="mt-1.5 flex flex-col gap-1.5">
              <Exact label={t("decisions.exact")} text={request.action} />
              <p className="break-all font-mono text-[12px] text-text-3">{t("decisions.hash", { hash: request.actionHash ?? "" })}</p>
            </div>
          )}
        </div>
      )}
    </div>
  );
}

const tones: Record<DiffLine["kind"], string> = { same: "text-text-2", gone: "bg-bad-soft text-bad-text", new: "bg-accent-soft text-text" };
const marks: Record<DiffLine["kind"], string> = { same: " ", gone: "−", new: "+" };

/** What an edit changes, line by line. */
export function Diff({ lines }: { lines: readonly DiffLine[] }) {
  const t = useT();
  return (
    <figure dir="ltr" aria-label={t("decisions.diff")} className={cx(block, "px-0")}>
      {lines.map((line, n) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their place
        <div key={n} className={cx("px-3", tones[line.kind])}>
          <span aria-hidden="true" className="mr-2 select-none">
            {marks[line.kind]}
          </span>
          {line.kind === "gone" ? (
            <del className="no-underline">{visible(line.text)}</del>
          ) : line.kind === "new" ? (
            <ins className="no-underline">{visible(line.text)}</ins>
          ) : (
            visible(line.text)
          )}
        </div>
      ))}
    </figure>
  );
}
