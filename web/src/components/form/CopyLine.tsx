import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { Button } from "#/components/ui/button";
import { useT } from "#/i18n";
import { copyText } from "#/lib/clipboard";
import { cx } from "#/lib/cx";

type Props = {
  /** What is copied. */
  text: string;
  /** What is drawn, when it differs (a shortened secret). */
  shown?: string;
  label: string;
  className?: string;
};

/**
 * One line of code type with a copy button. The text can be selected too: all of it, copied by hand, gives what the button gives, and where the
 * browser refuses the clipboard nothing is left out any more.
 */
export function CopyLine({ text, shown, label, className }: Props) {
  const t = useT();
  const [state, setState] = useState<"idle" | "done" | "refused">("idle");
  useEffect(() => {
    if (state !== "done") return;
    const timer = setTimeout(() => setState("idle"), 2500);
    return () => clearTimeout(timer);
  }, [state]);
  return (
    <div className={cx("min-w-0", className)}>
      <div className="flex items-start gap-2 rounded-control border border-line bg-code py-1.5 pr-1.5 pl-3">
        <code
          title={label}
          onCopy={(e) => {
            if (shown === undefined || !window.getSelection()?.containsNode(e.currentTarget, true)) return;
            if (window.getSelection()?.toString().trim() !== shown) return;
            e.preventDefault();
            e.clipboardData.setData("text/plain", text);
          }}
          className="min-w-0 flex-1 whitespace-pre-wrap py-1 [font-variant-ligatures:none] [overflow-wrap:anywhere] font-mono text-text text-[13.5px] leading-5"
        >
          {state === "refused" ? text : (shown ?? text)}
        </code>
        <Button size="sm" onClick={() => void copyText(text).then((ok) => setState(ok ? "done" : "refused"))}>
          {state === "done" ? <Check size={14} strokeWidth={2} /> : <Copy size={14} strokeWidth={1.75} />}
          {state === "done" ? t("common.copied") : t("common.copy")}
        </Button>
      </div>
      <p role="status" className={cx("text-[13px] text-text-2 leading-4.5", state === "refused" && "mt-1")}>
        {state === "refused" ? t("form.copyRefused") : state === "done" ? <span className="sr-only">{t("common.copied")}</span> : null}
      </p>
    </div>
  );
}
