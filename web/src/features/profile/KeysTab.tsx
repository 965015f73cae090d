import { KeyRound } from "lucide-react";
import { type FormEvent, useState } from "react";
import { CheckboxRow } from "#/components/form/Checkbox";
import { ErrorNote } from "#/components/form/ErrorNote";
import { PasswordInput } from "#/components/form/PasswordInput";
import { Select } from "#/components/form/Select";
import { StoredList } from "#/components/form/StoredList";
import { Button } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Field, Input } from "#/components/ui/input";
import { useT } from "#/i18n";
import { fieldError } from "#/lib/errorText";
import { shortTime } from "#/lib/format";
import { useAddKey, useDeleteKey, useKeyProviders, useLlmKeys, useMakeDefault } from "./queries";

export function KeysTab() {
  const t = useT();
  const providers = useKeyProviders();
  const [adding, setAdding] = useState(false);
  const makeDefault = useMakeDefault();
  const labelOf = (id: string) => providers.find((p) => p.id === id)?.label ?? id;
  return (
    <StoredList
      title={t("settings.tab.keys")}
      hint={t("settings.keysHint")}
      list={useLlmKeys()}
      empty={{ icon: <KeyRound size={24} strokeWidth={1.5} />, title: t("settings.noKeys"), hint: t("settings.noKeysHint") }}
      addLabel={t("settings.addKey")}
      onAdd={() => setAdding(true)}
      row={(k) => (
        <>
          <p className="truncate font-medium text-side">
            {labelOf(k.provider)}
            {k.label && <span className="font-normal text-text-2"> · {k.label}</span>}
          </p>
          <p className="text-meta text-text-3">
            {k.fingerprint && <code className="font-mono">{k.fingerprint}</code>}
            {k.lastValidatedAt && <span> · {t("settings.keyChecked", { time: shortTime(k.lastValidatedAt) })}</span>}
          </p>
        </>
      )}
      actions={(k) =>
        k.isDefault ? (
          <span className="rounded-[4px] bg-accent-soft px-1.5 font-medium text-[12px] text-accent-text leading-5">{t("settings.keyDefault")}</span>
        ) : (
          <Button size="sm" variant="quiet" disabled={makeDefault.isPending} onClick={() => makeDefault.mutate(k.id)}>
            {t("settings.makeDefault")}
          </Button>
        )
      }
      removal={{
        label: (k) => t("settings.removeKey", { name: k.label || labelOf(k.provider) }),
        title: () => t("settings.removeKeyTitle"),
        hint: t("settings.removeKeyHint"),
        run: useDeleteKey(),
      }}
    >
      <ErrorNote error={makeDefault.error} className="mt-3" />
      <Dialog open={adding} onOpenChange={setAdding} title={t("settings.addKey")} description={t("settings.addKeyHint")} width="sm">
        <AddKeyForm providers={providers} onDone={() => setAdding(false)} />
      </Dialog>
    </StoredList>
  );
}

function AddKeyForm({ providers, onDone }: { providers: { id: string; label: string }[]; onDone: () => void }) {
  const t = useT();
  const [provider, setProvider] = useState(providers[0]?.id ?? "");
  const [token, setToken] = useState("");
  const [label, setLabel] = useState("");
  const [isDefault, setDefault] = useState(true);
  const [tried, setTried] = useState(false);
  const add = useAddKey();
  const submit = (e: FormEvent) => {
    e.preventDefault();
    setTried(true);
    if (token.trim())
      add.mutate({ provider, token: token.trim(), ...(label.trim() ? { label: label.trim() } : {}), makeDefault: isDefault }, { onSuccess: onDone });
  };
  const tokenProblem = tried && !token.trim() ? t("settings.error.token.missing") : fieldError(add.error, "token", "settings");
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4 pb-1">
      <Field label={t("settings.provider")}>
        {(c) => (
          <Select {...c} value={provider} onChange={(e) => setProvider(e.target.value)}>
            {providers.map((p) => (
              <option key={p.id} value={p.id}>
                {p.label}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={t("settings.token")} error={tokenProblem}>
        {(c) => <PasswordInput {...c} autoComplete="off" value={token} onChange={(e) => setToken(e.target.value)} />}
      </Field>
      <Field label={t("settings.keyLabel")}>
        {(c) => <Input {...c} maxLength={60} placeholder={t("form.optional")} value={label} onChange={(e) => setLabel(e.target.value)} />}
      </Field>
      <CheckboxRow checked={isDefault} onChange={setDefault} label={t("settings.useAsDefault")} />
      {add.error && !tokenProblem && <ErrorNote error={add.error} area="settings" />}
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>{t("common.cancel")}</Button>
        <Button type="submit" variant="primary" busy={add.isPending}>
          {t("settings.saveKey")}
        </Button>
      </div>
    </form>
  );
}
