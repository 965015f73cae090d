import { Switch as Radix } from "radix-ui";
import { type ReactNode, useId } from "react";

type Props = { label: ReactNode; hint?: ReactNode; checked: boolean; onChange: (checked: boolean) => void; disabled?: boolean };

/** A setting that takes effect at once. */
export function SwitchRow({ label, hint, checked, onChange, disabled = false }: Props) {
  const id = useId();
  return (
    <div className="flex items-start justify-between gap-4 py-2.5">
      <div className="min-w-0">
        <label htmlFor={id} className="text-side">
          {label}
        </label>
        {hint && (
          <p id={`${id}-hint`} className="text-[13px] text-text-3 leading-4.5">
            {hint}
          </p>
        )}
      </div>
      <Radix.Root
        id={id}
        checked={checked}
        onCheckedChange={onChange}
        disabled={disabled}
        {...(hint ? { "aria-describedby": `${id}-hint` } : {})}
        className="hit mt-0.5 inline-flex h-5 w-9 shrink-0 items-center rounded-full bg-line-strong px-0.5 transition-colors disabled:opacity-50 data-[state=checked]:bg-accent"
      >
        <Radix.Thumb className="block size-4 rounded-full bg-raised transition-transform data-[state=checked]:translate-x-4" />
      </Radix.Root>
    </div>
  );
}
