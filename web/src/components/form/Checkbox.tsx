import { Check } from "lucide-react";
import { Checkbox as Radix } from "radix-ui";
import { type ReactNode, useId } from "react";
import { cx } from "#/lib/cx";

type Props = { label: ReactNode; checked: boolean; onChange: (checked: boolean) => void; error?: string | undefined; name?: string };

export function CheckboxRow({ label, checked, onChange, error, name }: Props) {
  const id = useId();
  return (
    <div>
      <div className="flex items-start gap-2.5">
        <Radix.Root
          id={id}
          {...(name ? { name } : {})}
          checked={checked}
          onCheckedChange={(v) => onChange(v === true)}
          aria-invalid={error ? true : undefined}
          aria-describedby={error ? `${id}-error` : undefined}
          className={cx(
            "hit mt-0.5 grid size-4.5 shrink-0 place-items-center rounded-[5px] border bg-raised transition-colors data-[state=checked]:border-accent data-[state=checked]:bg-accent",
            error ? "border-bad" : "border-line-strong",
          )}
        >
          <Radix.Indicator className="text-on-accent">
            <Check size={14} strokeWidth={2.5} />
          </Radix.Indicator>
        </Radix.Root>
        <label htmlFor={id} className="text-side text-text-2">
          {label}
        </label>
      </div>
      {error && (
        <p id={`${id}-error`} role="alert" className="mt-1 pl-7 text-[13px] text-bad-text leading-4.5">
          {error}
        </p>
      )}
    </div>
  );
}
