import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { updateConsent } from "#/api/me";
import { session } from "#/api/session";
import { CheckboxRow } from "#/components/form/Checkbox";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Button } from "#/components/ui/button";
import { useT } from "#/i18n";
import { AuthFrame } from "./AuthFrame";
import { useSignOut } from "./session";

/** Shown instead of the app while the person has yet to accept the current terms (contract 2.3). */
export function PolicyGate() {
  const t = useT();
  const { signOut } = useSignOut();
  const [read, setRead] = useState(false);
  const accept = useMutation({ mutationFn: () => updateConsent({ reaccept: true }), onSuccess: (self) => session.update(self) });
  return (
    <AuthFrame title={t("auth.policy.title")} hint={t("auth.policy.hint")}>
      <div className="flex flex-col gap-5">
        <p className="rounded-panel border border-line bg-raised px-4 py-3 text-side text-text-2">{t("auth.termsText")}</p>
        <CheckboxRow checked={read} onChange={setRead} label={t("auth.terms")} />
        <ErrorNote error={accept.error} />
        <div className="flex gap-2">
          <Button variant="primary" size="lg" disabled={!read} busy={accept.isPending} onClick={() => accept.mutate()}>
            {t("auth.policy.accept")}
          </Button>
          <Button variant="quiet" size="lg" onClick={() => void signOut()}>
            {t("auth.signOut")}
          </Button>
        </div>
      </div>
    </AuthFrame>
  );
}
