import { Check } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import type { ComponentProps, ReactNode } from "react";
import { cx } from "#/lib/cx";

const panel =
  "z-50 max-h-[min(560px,var(--radix-dropdown-menu-content-available-height))] min-w-44 animate-pop overflow-y-auto " +
  "rounded-panel border border-line bg-raised p-1 shadow-raised";

type MenuProps = {
  trigger: ReactNode;
  children: ReactNode;
  align?: "start" | "center" | "end";
  side?: "top" | "right" | "bottom" | "left";
  className?: string;
  open?: boolean;
  onOpenChange?: (open: boolean) => void;
};

/** A drop-down menu. The trigger must be a single button. */
export function Menu({ trigger, children, align = "end", side = "bottom", className, open, onOpenChange }: MenuProps) {
  return (
    <DropdownMenu.Root modal={false} {...(open === undefined ? {} : { open })} {...(onOpenChange ? { onOpenChange } : {})}>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content align={align} side={side} sideOffset={6} collisionPadding={8} className={cx(panel, className)}>
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

type ItemProps = ComponentProps<typeof DropdownMenu.Item> & { icon?: ReactNode; danger?: boolean; hint?: ReactNode };

export function MenuItem({ icon, danger = false, hint, className, children, ...rest }: ItemProps) {
  return (
    <DropdownMenu.Item
      className={cx(
        "flex min-h-8 items-center gap-2.5 rounded-control px-2 py-1 text-side outline-none select-none coarse:min-h-10",
        "data-[disabled]:opacity-45 data-[highlighted]:bg-hover",
        danger ? "text-bad-text" : "text-text",
        className,
      )}
      {...rest}
    >
      {icon && <span className={cx("grid w-4 place-items-center", !danger && "text-text-3")}>{icon}</span>}
      <span className="min-w-0 flex-1">{children}</span>
      {hint && <span className="text-meta text-text-3">{hint}</span>}
    </DropdownMenu.Item>
  );
}

type RadioProps = { value: string; onValueChange: (value: string) => void; items: { value: string; label: ReactNode }[] };

export function MenuRadio({ value, onValueChange, items }: RadioProps) {
  return (
    <DropdownMenu.RadioGroup value={value} onValueChange={onValueChange}>
      {items.map((item) => (
        <DropdownMenu.RadioItem
          key={item.value}
          value={item.value}
          className="flex min-h-8 items-center gap-2.5 rounded-control px-2 py-1 text-side outline-none select-none data-[highlighted]:bg-hover coarse:min-h-10"
        >
          <span className="grid w-4 place-items-center text-accent-text">
            <DropdownMenu.ItemIndicator>
              <Check size={16} strokeWidth={1.75} />
            </DropdownMenu.ItemIndicator>
          </span>
          {item.label}
        </DropdownMenu.RadioItem>
      ))}
    </DropdownMenu.RadioGroup>
  );
}

export function MenuLabel({ children }: { children: ReactNode }) {
  return <DropdownMenu.Label className="px-2 pt-1.5 pb-1 text-meta text-text-3">{children}</DropdownMenu.Label>;
}

export function MenuSeparator() {
  return <DropdownMenu.Separator className="my-1 h-px bg-line" />;
}
