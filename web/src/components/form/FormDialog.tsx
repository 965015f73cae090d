import { type ReactNode, useId } from "react";
import { Button } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { useT } from "#/i18n";

type Props = {
  title: ReactNode;
  description?: ReactNode;
  /** What the button that sends says; the title when it is left away. */
  action?: ReactNode;
  width?: "sm" | "md" | "lg";
  busy: boolean;
  disabled?: boolean;
  onSubmit: () => void;
  onClose: () => void;
  children: ReactNode;
};

/** A modal with fields that are sent together, or not at all. */
export function FormDialog({ title, description, action = title, width, busy, disabled, onSubmit, onClose, children }: Props) {
  const t = useT();
  const form = useId();
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={title}
      description={description}
      width={width}
      footer={
        <>
          <Button onClick={onClose}>{t("common.cancel")}</Button>
          <Button type="submit" form={form} variant="primary" busy={busy} disabled={disabled}>
            {action}
          </Button>
        </>
      }
    >
      <form
        id={form}
        className="flex flex-col gap-4"
        onSubmit={(e) => {
          e.preventDefault();
          onSubmit();
        }}
      >
        {children}
      </form>
    </Dialog>
  );
}
