import { Tooltip as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { Kbd } from "./kbd";

export const TooltipProvider = Radix.Provider;

type Props = {
  content: ReactNode;
  /** Keys that do the same, shown after the words. */
  keys?: string[];
  side?: "top" | "right" | "bottom" | "left";
  children: ReactNode;
};

/** A short explanation on hover and on keyboard focus. The child must be a single element that takes a ref. */
export function Tooltip({ content, keys, side = "top", children }: Props) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          side={side}
          sideOffset={6}
          collisionPadding={8}
          className="z-[60] flex max-w-72 animate-fade items-center gap-2 rounded-control bg-tooltip px-2 py-1 text-meta text-on-tooltip"
        >
          {content}
          {keys && <Kbd keys={keys} onDark />}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
