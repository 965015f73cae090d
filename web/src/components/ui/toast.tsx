import { CircleAlert, CircleCheck, Info, X } from "lucide-react";
import { Toast as Radix } from "radix-ui";
import { type ReactNode, useSyncExternalStore } from "react";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { Button, IconButton } from "./button";

export type ToastTone = "info" | "good" | "bad";
export type ToastInput = {
  title: string;
  detail?: string;
  tone?: ToastTone;
  action?: { label: string; run: () => void };
  /** Milliseconds; an error with an action stays longer. */
  duration?: number;
};
type Item = ToastInput & { id: number };

let items: readonly Item[] = [];
let nextId = 1;
const listeners = new Set<() => void>();

function set(next: readonly Item[]) {
  items = next;
  for (const listener of listeners) listener();
}

/** Shows a short notice at the edge of the screen. At most three at once: the oldest gives way. */
export function toast(input: ToastInput): void {
  set([...items.filter((i) => i.title !== input.title || i.detail !== input.detail).slice(-2), { ...input, id: nextId++ }]);
}

const icons: Record<ToastTone, ReactNode> = {
  info: <Info size={18} strokeWidth={1.75} className="text-text-3" />,
  good: <CircleCheck size={18} strokeWidth={1.75} className="text-good-text" />,
  bad: <CircleAlert size={18} strokeWidth={1.75} className="text-bad-text" />,
};

export function Toaster() {
  const t = useT();
  const shown = useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => items,
  );
  return (
    <Radix.Provider swipeDirection="right" duration={5000}>
      {shown.map((item) => (
        <Radix.Root
          key={item.id}
          duration={item.duration ?? (item.tone === "bad" ? 9000 : 5000)}
          type={item.tone === "bad" ? "foreground" : "background"}
          onOpenChange={(open) => !open && set(items.filter((i) => i.id !== item.id))}
          className="flex w-full animate-pop items-start gap-3 rounded-panel border border-line bg-raised px-3.5 py-3 shadow-raised"
        >
          <span className="mt-px">{icons[item.tone ?? "info"]}</span>
          <div className="min-w-0 flex-1">
            <Radix.Title className="font-medium text-side">{item.title}</Radix.Title>
            {item.detail && <Radix.Description className="mt-0.5 text-[13px] text-text-2 leading-4.5">{item.detail}</Radix.Description>}
          </div>
          {item.action && (
            <Radix.Action asChild altText={item.action.label} onClick={item.action.run}>
              <Button size="sm">{item.action.label}</Button>
            </Radix.Action>
          )}
          <Radix.Close asChild>
            <IconButton label={t("common.close")} size="sm" className="-mt-1 -mr-1.5">
              <X size={16} strokeWidth={1.75} />
            </IconButton>
          </Radix.Close>
        </Radix.Root>
      ))}
      <Radix.Viewport
        className={cx(
          "fixed right-4 bottom-4 z-[70] flex w-[min(380px,calc(100vw-32px))] flex-col gap-2 outline-none",
          "max-sm:top-4 max-sm:bottom-auto",
        )}
      />
    </Radix.Provider>
  );
}
