import { type ComponentProps, type ReactNode, useId } from "react";
import { cx } from "#/lib/cx";

const field =
  "w-full rounded-control border border-line-strong/70 bg-raised px-3 text-body text-text transition-colors " +
  "hover:border-line-strong focus-visible:border-accent focus-visible:outline-offset-0 disabled:opacity-60 " +
  "aria-invalid:border-bad";

export function Input({ className, ...rest }: ComponentProps<"input">) {
  return <input className={cx(field, "h-9", className)} {...rest} />;
}

export function Textarea({ className, ...rest }: ComponentProps<"textarea">) {
  return <textarea className={cx(field, "min-h-20 py-2", className)} {...rest} />;
}

type FieldProps = {
  label: ReactNode;
  /** Said below the control while there is no error. */
  hint?: ReactNode;
  error?: ReactNode;
  className?: string;
  /** Gets the ids that tie label, hint and error to the control. */
  children: (control: { id: string; "aria-describedby": string | undefined; "aria-invalid": true | undefined }) => ReactNode;
};

/** A label, a control, and one line below it. */
export function Field({ label, hint, error, className, children }: FieldProps) {
  const id = useId();
  const note = error ?? hint;
  return (
    <div className={cx("flex flex-col gap-1.5", className)}>
      <label htmlFor={id} className="font-medium text-side">
        {label}
      </label>
      {children({ id, "aria-describedby": note ? `${id}-note` : undefined, "aria-invalid": error ? true : undefined })}
      {note && (
        <p id={`${id}-note`} role={error ? "alert" : undefined} className={cx("text-[13px] leading-4.5", error ? "text-bad-text" : "text-text-3")}>
          {note}
        </p>
      )}
    </div>
  );
}
