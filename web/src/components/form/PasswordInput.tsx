import { Eye, EyeOff } from "lucide-react";
import { type ComponentProps, useState } from "react";
import { IconButton } from "#/components/ui/button";
import { Input } from "#/components/ui/input";
import { useT } from "#/i18n";

/** A secret field that can be looked at while typing. */
export function PasswordInput(props: Omit<ComponentProps<"input">, "type">) {
  const t = useT();
  const [shown, setShown] = useState(false);
  return (
    <div className="relative">
      <Input {...props} type={shown ? "text" : "password"} autoCapitalize="none" autoCorrect="off" spellCheck={false} className="pr-10" />
      <span className="absolute top-1 right-1">
        <IconButton label={shown ? t("form.hide") : t("form.show")} size="sm" onClick={() => setShown(!shown)}>
          {shown ? <EyeOff size={16} strokeWidth={1.75} /> : <Eye size={16} strokeWidth={1.75} />}
        </IconButton>
      </span>
    </div>
  );
}
