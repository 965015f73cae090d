import { toJsxRuntime } from "hast-util-to-jsx-runtime";
import { Check, Copy, WrapText } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useRef, useState } from "react";
import { Fragment, jsx, jsxs } from "react/jsx-runtime";
import { IconButton } from "#/components/ui/button";
import { Tooltip } from "#/components/ui/tooltip";
import { useT } from "#/i18n";
import { copyText } from "#/lib/clipboard";
import { cx } from "#/lib/cx";
import { highlighterNow, loadHighlighter, MAX_HIGHLIGHT } from "./highlight";

/** A block of code: its language, copy, wrap, and colours as soon as the grammar is here. Colouring never changes its height. */
export function CodeBlock({ code, language, settled }: { code: string; language: string; settled: boolean }) {
  const t = useT();
  const [wrap, setWrap] = useState(false);
  const colours = useColours(code, language, settled);
  return (
    <figure className="group/code overflow-hidden rounded-panel border border-line bg-code">
      <figcaption className="flex h-8 items-center gap-1 pr-1 pl-3 text-meta text-text-3">
        <span className="min-w-0 flex-1 truncate">{language || t("code.plain")}</span>
        <Tooltip content={t("code.wrap")}>
          <IconButton label={t("code.wrap")} size="sm" pressed={wrap} onClick={() => setWrap(!wrap)}>
            <WrapText size={16} strokeWidth={1.75} />
          </IconButton>
        </Tooltip>
        <CopyButton text={code} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard. */}
      <pre tabIndex={0} className={cx("hljs ring-inset-focus overflow-x-auto px-3 pb-3", wrap && "whitespace-pre-wrap")}>
        <code>{colours ?? code}</code>
      </pre>
    </figure>
  );
}

function useColours(code: string, language: string, settled: boolean): ReactNode {
  const [ready, setReady] = useState(() => highlighterNow());
  const wanted = settled && language !== "" && code.length <= MAX_HIGHLIGHT;
  useEffect(() => {
    if (!wanted || ready) return;
    let gone = false;
    loadHighlighter().then(
      (l) => !gone && setReady(l),
      () => undefined, // Offline: the code stays plain, which is readable.
    );
    return () => {
      gone = true;
    };
  }, [wanted, ready]);
  return useMemo(() => {
    if (!wanted || !ready?.registered(language)) return null;
    return toJsxRuntime(ready.highlight(language, code), { Fragment, jsx, jsxs });
  }, [wanted, ready, language, code]);
}

function CopyButton({ text }: { text: string }) {
  const t = useT();
  const [done, setDone] = useState(false);
  const timer = useRef(0);
  useEffect(() => () => window.clearTimeout(timer.current), []);
  const copy = async () => {
    if (!(await copyText(text))) return;
    setDone(true);
    window.clearTimeout(timer.current);
    timer.current = window.setTimeout(() => setDone(false), 1600);
  };
  return (
    <Tooltip content={done ? t("common.copied") : t("common.copy")}>
      <IconButton label={done ? t("common.copied") : t("common.copy")} size="sm" onClick={() => void copy()}>
        {done ? <Check size={16} strokeWidth={1.75} className="text-good-text" /> : <Copy size={16} strokeWidth={1.75} />}
      </IconButton>
    </Tooltip>
  );
}
