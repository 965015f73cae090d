import { Slot } from "radix-ui";
import type { ComponentProps } from "react";
import { cx } from "#/lib/cx";
import { Spinner } from "./spinner";

export type ButtonVariant = "primary" | "secondary" | "quiet" | "danger" | "quiet-danger";
export type ButtonSize = "sm" | "md" | "lg";

const base =
  "hit inline-flex shrink-0 items-center justify-center gap-1.5 whitespace-nowrap rounded-control font-medium " +
  "transition-colors select-none disabled:opacity-50 aria-disabled:opacity-50";
const variants: Record<ButtonVariant, string> = {
  primary: "bg-accent text-on-accent hover:not-disabled:bg-accent-hover",
  secondary: "border border-line bg-raised text-text hover:not-disabled:bg-hover",
  quiet: "text-text-2 hover:not-disabled:bg-hover hover:not-disabled:text-text",
  "quiet-danger": "text-bad-text hover:not-disabled:bg-bad-soft",
  danger: "bg-bad text-on-bad hover:not-disabled:bg-bad-hover",
};
const sizes: Record<ButtonSize, string> = {
  sm: "h-7 px-2.5 text-[13px]",
  md: "h-8.5 px-3.5 text-side",
  lg: "h-10 px-4 text-body",
};

type Props = ComponentProps<"button"> & {
  variant?: ButtonVariant;
  size?: ButtonSize;
  /** Shows a spinner and refuses presses; the label stays, so the width does not jump. */
  busy?: boolean;
  /** Renders the only child (a link, say) with the looks of a button. */
  asChild?: boolean;
};

export function Button({ variant = "secondary", size = "md", busy = false, asChild = false, ...props }: Props) {
  const { className, children, disabled, type, ...rest } = props;
  const classes = cx(base, variants[variant], sizes[size], className);
  if (asChild) {
    return (
      <Slot.Root className={classes} {...rest}>
        {children}
      </Slot.Root>
    );
  }
  return (
    <button type={type ?? "button"} className={classes} disabled={disabled || busy} aria-busy={busy || undefined} {...rest}>
      {busy && <Spinner size={14} />}
      {children}
    </button>
  );
}

type IconButtonProps = Omit<ComponentProps<"button">, "aria-label"> & {
  /** What the button does; read aloud, and shown by the tooltip of whoever wraps it. */
  label: string;
  size?: "sm" | "md";
  /** `accent` is the one action of its place; disabled it steps back. */
  variant?: "quiet" | "accent";
  pressed?: boolean;
};

const iconVariants = {
  quiet:
    "text-text-2 hover:not-disabled:bg-hover hover:not-disabled:text-text disabled:opacity-45 " +
    "aria-pressed:bg-hover aria-pressed:text-text data-[state=open]:bg-hover data-[state=open]:text-text",
  accent: "not-disabled:bg-accent not-disabled:text-on-accent hover:not-disabled:bg-accent-hover disabled:text-text-3",
};

/** A square button that holds one icon. */
export function IconButton({ label, size = "md", variant = "quiet", pressed, className, type, ...rest }: IconButtonProps) {
  return (
    <button
      type={type ?? "button"}
      aria-label={label}
      aria-pressed={pressed}
      className={cx(
        "hit inline-grid shrink-0 place-items-center rounded-control transition-colors",
        iconVariants[variant],
        size === "sm" ? "size-7" : "size-8.5",
        className,
      )}
      {...rest}
    />
  );
}
