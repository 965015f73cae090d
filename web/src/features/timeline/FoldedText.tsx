import { type ReactNode, useLayoutEffect, useRef, useState } from "react";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";

/** Folds content that is taller than `limit` px behind "Show all". What is only a little taller is not worth folding. */
export function FoldedText({ limit, children }: { limit: number; children: ReactNode }) {
  const t = useT();
  const box = useRef<HTMLDivElement>(null);
  const [tall, setTall] = useState(false);
  const [open, setOpen] = useState(false);
  // Judged once, when it comes on screen: an answer that grew before the reader's eyes is not folded away when it is done.
  const first = useRef(limit);
  useLayoutEffect(() => {
    setTall((box.current?.scrollHeight ?? 0) > first.current * 1.25);
  }, []);
  const folded = tall && !open;
  return (
    <>
      <div
        ref={box}
        className={cx(folded && "overflow-hidden [mask-image:linear-gradient(to_bottom,black_calc(100%-56px),transparent)]")}
        style={folded ? { maxHeight: limit } : undefined}
      >
        {children}
      </div>
      {tall && (
        <button
          type="button"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
          className="hit mt-1 font-medium text-[13px] text-accent-text hover:underline"
        >
          {t(open ? "message.less" : "message.more")}
        </button>
      )}
    </>
  );
}
