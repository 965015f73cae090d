import { KeyRound, Trash2 } from "lucide-react";
import { type FormEvent, useState } from "react";
import type { LlmKey } from "#/api/types";
import { CheckboxRow } from "#/components/form/Checkbox";
import { ErrorNote } from "#/components/form/ErrorNote";
import { PasswordInput } from "#/components/form/PasswordInput";
import { Section } from "#/components/form/Section";
import { Select } from "#/components/form/Select";
import { Button, IconButton } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Field, Input } from "#/components/ui/input";
import { Empty, Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { fieldError } from "#/lib/errorText";
import { shortTime } from "#/lib/format";
import { useAddKey, useDeleteKey, useKeyProviders, useLlmKeys, useMakeDefault } from "./queries";

export function KeysTab() {
  const t = useT();
  const list = useLlmKeys();
  const providers = useKeyProviders();
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<LlmKey | null>(null);
  const makeDefault = useMakeDefault();
  const remove = useDeleteKey();
  const labelOf = (id: string) => providers.find((p) => p.id === id)?.label ?? id;
  return (
    <Section
      title={t("settings.tab.keys")}
      hint={t("settings.keysHint")}
      action={
        list.data && list.data.length > 0 ? (
          <Button variant="primary" onClick={() => setAdding(true)}>
            {t("settings.addKey")}
          </Button>
        ) : null
      }
    >
      {list.isPending ? (
        <Skeleton className="h-24 w-full" />
      ) : !list.data ? (
        <ErrorNote error={list.error} onRetry={() => void list.refetch()} />
      ) : list.data.length === 0 ? (
        <Empty
          className="rounded-panel border border-line border-dashed"
          icon={<KeyRound size={24} strokeWidth={1.5} />}
          title={t("settings.noKeys")}
          hint={t("settings.noKeysHint")}
          action={
            <Button variant="primary" onClick={() => setAdding(true)}>
              {t("settings.addKey")}
            </Button>
          }
        />
      ) : (
        <ul className="divide-y divide-line rounded-panel border border-line">
          {list.data.map((k) => (
            <li key={k.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-3">
              <div className="min-w-0 flex-1 basis-48">
                <p className="truncate font-medium text-side">
                  {labelOf(k.provider)}
                  {k.label && <span className="font-normal text-text-2"> · {k.label}</span>}
                </p>
                <p className="text-meta text-text-3">
                  {k.fingerprint && <code className="font-mono">{k.fingerprint}</code>}
                  {k.lastValidatedAt && <span> · {t("settings.keyChecked", { time: shortTime(k.lastValidatedAt) })}</span>}
                </p>
              </div>
              {k.isDefault ? (
                <span className="rounded-[4px] bg-accent-soft px-1.5 font-medium text-[12px] text-accent-text leading-5">
                  {t("settings.keyDefault")}
                </span>
              ) : (
                <Button size="sm" variant="quiet" disabled={makeDefault.isPending} onClick={() => makeDefault.mutate(k.id)}>
                  {t("settings.makeDefault")}
                </Button>
              )}
              <IconButton label={t("settings.removeKey", { name: k.label || labelOf(k.provider) })} onClick={() => setRemoving(k)}>
                <Trash2 size={16} strokeWidth={1.75} />
              </IconButton>
            </li>
          ))}
        </ul>
      )}
      <ErrorNote error={makeDefault.error} className="mt-3" />
      <Dialog open={adding} onOpenChange={setAdding} title={t("settings.addKey")} description={t("settings.addKeyHint")} width="sm">
        <AddKeyForm providers={providers} onDone={() => setAdding(false)} />
      </Dialog>
      <Dialog
        open={removing !== null}
        onOpenChange={(open) => {
          if (open) return;
          setRemoving(null);
          remove.reset();
        }}
        title={t("settings.removeKeyTitle")}
        description={t("settings.removeKeyHint")}
        width="sm"
        footer={
          <>
            <Button autoFocus onClick={() => setRemoving(null)}>
              {t("common.cancel")}
            </Button>
            <Button
              variant="danger"
              busy={remove.isPending}
              onClick={() => removing && remove.mutate(removing.id, { onSuccess: () => setRemoving(null) })}
            >
              {t("common.remove")}
            </Button>
          </>
        }
      >
        <ErrorNote error={remove.error} />
      </Dialog>
    </Section>
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
