import { useState } from "react";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { Button } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Field, Input } from "#/components/ui/input";
import { useT } from "#/i18n";
import { useSelf } from "#/lib/self";
import { LocationSection } from "./LocationSection";
import { useDeleteMe } from "./queries";

const PHRASE = "DELETE";

export function AccountTab() {
  const t = useT();
  const self = useSelf();
  const [open, setOpen] = useState(false);
  const [typed, setTyped] = useState("");
  const remove = useDeleteMe();
  const close = () => {
    setOpen(false);
    setTyped("");
    remove.reset();
  };
  return (
    <div>
      <Section title={t("settings.tab.account")}>
        <dl className="text-side">
          <dt className="text-text-3">{t("auth.email")}</dt>
          <dd className="mt-0.5 break-words text-body">{self.email}</dd>
        </dl>
      </Section>
      <LocationSection />
      <Section title={t("settings.deleteTitle")} hint={t("settings.deleteHint")} tone="danger">
        <Button variant="danger" onClick={() => setOpen(true)}>
          {t("settings.delete")}
        </Button>
        <Dialog
          open={open}
          onOpenChange={(o) => (o ? setOpen(true) : close())}
          title={t("settings.deleteTitle")}
          description={t("settings.deleteLong")}
          width="sm"
          footer={
            <>
              <Button onClick={close}>{t("common.cancel")}</Button>
              <Button variant="danger" disabled={typed.trim() !== PHRASE} busy={remove.isPending} onClick={() => remove.mutate()}>
                {t("settings.delete")}
              </Button>
            </>
          }
        >
          <div className="flex flex-col gap-3">
            <Field label={t("settings.deleteType", { phrase: PHRASE })}>
              {(c) => <Input {...c} autoFocus autoComplete="off" value={typed} onChange={(e) => setTyped(e.target.value)} />}
            </Field>
            <ErrorNote error={remove.error} area="settings" />
          </div>
        </Dialog>
      </Section>
    </div>
  );
}
