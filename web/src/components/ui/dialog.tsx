import { X } from "lucide-react";
import { Dialog as Radix } from "radix-ui";
import type { ReactNode } from "react";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { IconButton } from "./button";

type Props = {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: ReactNode;
  description?: ReactNode;
  children?: ReactNode;
  /** Buttons, right-aligned; the action comes last. */
  footer?: ReactNode;
  width?: "sm" | "md" | "lg";
  /** Hides the title bar from sight (not from a screen reader): for the quick switcher. */
  bare?: boolean;
};

const widths = { sm: "sm:max-w-sm", md: "sm:max-w-lg", lg: "sm:max-w-2xl" };

/** What is to be filled in gets the focus; where there is nothing, the first button of the footer, which is the safe choice. */
function focusFirst(event: Event): void {
  const box = event.currentTarget as HTMLElement;
  const target =
    box.querySelector<HTMLElement>("input:not([type=hidden]), textarea") ?? box.querySelector<HTMLElement>("[data-footer] button") ?? box;
  event.preventDefault();
  target.focus();
}

/** A modal. On a phone it is a sheet at the bottom; focus goes in, and back where it came from. */
export function Dialog({ open, onOpenChange, title, description, children, footer, width = "md", bare = false }: Props) {
  const t = useT();
  return (
    <Radix.Root open={open} onOpenChange={onOpenChange}>
      <Radix.Portal>
        <Radix.Overlay className="fixed inset-0 z-40 animate-fade bg-scrim" />
        <Radix.Content
          {...(description ? {} : { "aria-describedby": undefined })}
          onOpenAutoFocus={focusFirst}
          className={cx(
            "fixed inset-x-0 bottom-0 z-50 flex max-h-[88dvh] animate-pop flex-col border border-line bg-raised shadow-raised",
            "rounded-t-dialog pb-[env(safe-area-inset-bottom)] focus:outline-none sm:inset-x-4 sm:bottom-auto sm:mx-auto sm:rounded-dialog",
            bare ? "sm:top-[12dvh]" : "sm:top-[10dvh]",
            widths[width],
          )}
        >
          <div className={cx("flex items-start gap-3 px-5 pt-4 pb-1", bare && "sr-only")}>
            <div className="min-w-0 flex-1">
              <Radix.Title className="font-semibold text-title">{title}</Radix.Title>
              {description && <Radix.Description className="mt-1 text-side text-text-2">{description}</Radix.Description>}
            </div>
            {!bare && (
              <Radix.Close asChild>
                <IconButton label={t("common.close")} size="sm" className="-mr-1.5">
                  <X size={16} strokeWidth={1.75} />
                </IconButton>
              </Radix.Close>
            )}
          </div>
          <div className={cx("min-h-0 flex-1 overflow-y-auto", bare ? "" : "px-5 py-3")}>{children}</div>
          {footer && (
            <div data-footer="" className="flex justify-end gap-2 border-line border-t px-5 py-3">
              {footer}
            </div>
          )}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  );
}
