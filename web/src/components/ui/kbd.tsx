import { Fragment } from "react";
import { cx } from "#/lib/cx";

const isMac = typeof navigator !== "undefined" && /mac|iphone|ipad/i.test(navigator.platform);

/** The name of a key on this machine: `Mod` is ⌘ or Ctrl. */
export function keyName(key: string): string {
  if (key === "Mod") return isMac ? "⌘" : "Ctrl";
  if (key === "Alt") return isMac ? "⌥" : "Alt";
  if (key === "Shift") return isMac ? "⇧" : "Shift";
  return key;
}

export function Kbd({ keys, onDark = false }: { keys: string[]; onDark?: boolean }) {
  return (
    <span className="inline-flex items-center gap-0.5">
      {keys.map((key) => (
        <Fragment key={key}>
          <kbd
            className={cx(
              "inline-grid h-4.5 min-w-4.5 place-items-center rounded-[4px] border px-1 font-sans text-[12px] leading-none",
              onDark ? "border-on-tooltip/25 text-on-tooltip" : "border-line bg-sunken text-text-2",
            )}
          >
            {keyName(key)}
          </kbd>
        </Fragment>
      ))}
    </span>
  );
}
