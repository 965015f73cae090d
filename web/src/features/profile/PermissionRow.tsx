import { BellOff, BellRing } from "lucide-react";
import { useState } from "react";
import { Button } from "#/components/ui/button";
import { useT } from "#/i18n";

function current(): NotificationPermission | "missing" {
  return typeof Notification === "undefined" ? "missing" : Notification.permission;
}

/** Whether this browser lets us call at all, and the way to allow it. */
export function PermissionRow() {
  const t = useT();
  const [state, setState] = useState(current);
  if (state === "granted") return null;
  return (
    <div className="mb-4 flex flex-wrap items-center gap-3 rounded-panel border border-line bg-raised px-4 py-3">
      {state === "default" ? (
        <BellRing size={18} strokeWidth={1.75} className="text-text-3" aria-hidden="true" />
      ) : (
        <BellOff size={18} strokeWidth={1.75} className="text-text-3" aria-hidden="true" />
      )}
      <p className="min-w-0 flex-1 basis-56 text-side text-text-2">{t(`settings.permission.${state}`)}</p>
      {state === "default" && <Button onClick={() => void Notification.requestPermission().then(setState)}>{t("settings.permission.allow")}</Button>}
    </div>
  );
}
