import { useState } from "react";
import type { PermissionRequest } from "#/api/types";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { type DiffLine, shownRequest, visible } from "./lists";

const block =
  "overflow-x-auto whitespace-pre-wrap break-words rounded-control border border-line bg-sunken px-3 py-2 font-mono text-[13px] leading-5";

/** Text that is to be read to the letter. Long ones scroll in their own box. */
export function Exact({ text, label, className }: { text: string; label: string; className?: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by key
    <figure tabIndex={0} aria-label={label} className={cx(block, "max-h-72 overflow-y-auto", className)}>
      {visible(text)}
    </figure>
  );
}

/** All of what would run: the part that matters first, the rest, and the bytes that the answer is about. */
export function WhatRuns({ request }: { request: PermissionRequest }) {
  const t = useT();
  const [exact, setExact] = useState(false);
  const shown = shownRequest(request);
  return (
    <div className="flex flex-col gap-2">
      <Exact label={t("decisions.what")} text={shown.main} />
      {shown.rest && (
        <>
          <p className="text-meta text-text-3">{t("decisions.also")}</p>
          <Exact label={t("decisions.also")} text={shown.rest} className="max-h-40" />
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
              <Exact label={t("decisions.exact")} text={request.action} className="max-h-40" />
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
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by key
    <figure tabIndex={0} aria-label={t("decisions.diff")} className={cx(block, "max-h-60 overflow-y-auto px-0")}>
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
