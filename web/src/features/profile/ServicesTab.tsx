import { Pencil, Plug } from "lucide-react";
import { type FormEvent, useState } from "react";
import type { Service } from "#/api/tools";
import { CheckboxRow } from "#/components/form/Checkbox";
import { ErrorNote } from "#/components/form/ErrorNote";
import { PasswordInput } from "#/components/form/PasswordInput";
import { Select } from "#/components/form/Select";
import { StoredList } from "#/components/form/StoredList";
import { Button, IconButton } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Field, Input, Textarea } from "#/components/ui/input";
import { useT } from "#/i18n";
import { fieldError } from "#/lib/errorText";
import { nameList } from "#/lib/format";
import { readOperations, writeOperations } from "./operations";
import { useOwnAgents, useRemoveService, useSaveService, useServices } from "./serviceQueries";

export function ServicesTab() {
  const t = useT();
  const agents = useOwnAgents();
  const [editing, setEditing] = useState<Service | "new" | null>(null);
  const namesOf = (s: Service) => s.agentIds.map((id) => agents.data?.find((a) => a.id === id)?.displayName).filter((n) => n !== undefined);
  return (
    <StoredList
      title={t("settings.tab.services")}
      hint={t("services.hint")}
      list={useServices()}
      empty={{ icon: <Plug size={24} strokeWidth={1.5} />, title: t("services.none"), hint: t("services.noneHint") }}
      addLabel={t("services.add")}
      onAdd={() => setEditing("new")}
      row={(s) => (
        <>
          <p className="break-words font-medium text-side">
            <code className="font-mono">{s.name}</code>
            {!s.enabled && <span className="font-normal text-text-3"> · {t("services.off")}</span>}
          </p>
          <p className="break-all text-meta text-text-3">
            {s.baseUrl}
            {s.auth.fingerprint && (
              <>
                {" · "}
                <code className="font-mono">{s.auth.fingerprint}</code>
              </>
            )}
          </p>
          <p className="text-meta text-text-3">
            {t("services.operations", { n: s.operations.length })} · {namesOf(s).length > 0 ? nameList(namesOf(s)) : t("services.noAgent")}
          </p>
        </>
      )}
      actions={(s) => (
        <IconButton label={t("services.edit", { name: s.name })} onClick={() => setEditing(s)}>
          <Pencil size={16} strokeWidth={1.75} />
        </IconButton>
      )}
      removal={{
        label: (s) => t("services.remove", { name: s.name }),
        title: (s) => t("services.remove", { name: s.name }),
        hint: t("services.removeHint"),
        run: useRemoveService(),
      }}
    >
      <Dialog
        open={editing !== null}
        onOpenChange={(open) => !open && setEditing(null)}
        title={editing === "new" || editing === null ? t("services.add") : t("services.edit", { name: editing.name })}
        description={t("services.formHint")}
      >
        {editing !== null && <ServiceForm service={editing === "new" ? undefined : editing} onDone={() => setEditing(null)} />}
      </Dialog>
    </StoredList>
  );
}

function ServiceForm({ service, onDone }: { service?: Service | undefined; onDone: () => void }) {
  const t = useT();
  const agents = useOwnAgents();
  const save = useSaveService(service?.id);
  const [name, setName] = useState(service?.name ?? "");
  const [description, setDescription] = useState(service?.description ?? "");
  const [baseUrl, setBaseUrl] = useState(service?.baseUrl ?? "https://");
  const [kind, setKind] = useState(service?.auth.kind ?? "none");
  const [authName, setAuthName] = useState(service?.auth.name ?? "");
  const [secret, setSecret] = useState("");
  const [operations, setOperations] = useState(writeOperations(service?.operations ?? []));
  const [chosen, setChosen] = useState<readonly string[]>(service?.agentIds ?? []);
  const [shared, setShared] = useState(service?.shared ?? false);
  const [enabled, setEnabled] = useState(service?.enabled ?? true);
  const [badLine, setBadLine] = useState<number>();
  const problem = (field: string) => fieldError(save.error, field, "services");
  const shownProblem = ["name", "baseUrl", "auth.secret", "auth.name", "operations"].some((f) => problem(f));
  const submit = (e: FormEvent) => {
    e.preventDefault();
    const read = readOperations(operations);
    if ("badLine" in read) {
      setBadLine(read.badLine);
      return;
    }
    setBadLine(undefined);
    save.mutate(
      {
        name: name.trim(),
        description: description.trim(),
        baseUrl: baseUrl.trim(),
        auth: { kind, ...(authName.trim() ? { name: authName.trim() } : {}), ...(secret ? { secret } : {}) },
        operations: read.operations,
        agentIds: [...chosen],
        shared,
        enabled,
      },
      { onSuccess: onDone },
    );
  };
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4 pb-1">
      <Field label={t("services.name")} hint={t("services.nameHint")} error={problem("name")}>
        {(c) => <Input {...c} autoFocus maxLength={40} placeholder="crm" value={name} onChange={(e) => setName(e.target.value)} />}
      </Field>
      <Field label={t("services.description")}>
        {(c) => <Input {...c} maxLength={2000} value={description} onChange={(e) => setDescription(e.target.value)} />}
      </Field>
      <Field label={t("services.baseUrl")} error={problem("baseUrl")}>
        {(c) => <Input {...c} type="url" maxLength={2000} value={baseUrl} onChange={(e) => setBaseUrl(e.target.value)} />}
      </Field>
      <Field label={t("services.auth")}>
        {(c) => (
          <Select {...c} value={kind} onChange={(e) => setKind(e.target.value)}>
            <option value="none">{t("services.auth.none")}</option>
            <option value="bearer">{t("services.auth.bearer")}</option>
            <option value="basic">{t("services.auth.basic")}</option>
            <option value="header">{t("services.auth.header")}</option>
            <option value="query">{t("services.auth.query")}</option>
          </Select>
        )}
      </Field>
      {(kind === "header" || kind === "query") && (
        <Field label={t("services.authName")} error={problem("auth.name")}>
          {(c) => (
            <Input
              {...c}
              maxLength={100}
              placeholder={kind === "header" ? "X-Api-Key" : "key"}
              value={authName}
              onChange={(e) => setAuthName(e.target.value)}
            />
          )}
        </Field>
      )}
      {kind !== "none" && (
        <Field label={t("services.secret")} hint={service?.auth.fingerprint ? t("services.secretStays") : undefined} error={problem("auth.secret")}>
          {(c) => <PasswordInput {...c} autoComplete="off" value={secret} onChange={(e) => setSecret(e.target.value)} />}
        </Field>
      )}
      <Field
        label={t("services.operationsLabel")}
        hint={t("services.operationsHint")}
        error={badLine === undefined ? problem("operations") : t("services.badLine", { n: badLine })}
      >
        {(c) => (
          <Textarea
            {...c}
            rows={4}
            spellCheck={false}
            className="font-mono text-[13.5px] leading-5"
            placeholder={"GET /contacts/{id}\n!POST /contacts"}
            value={operations}
            onChange={(e) => setOperations(e.target.value)}
          />
        )}
      </Field>
      <fieldset className="flex flex-col gap-2">
        <legend className="mb-1.5 font-medium text-side">{t("services.agents")}</legend>
        {(agents.data ?? []).map((a) => (
          <CheckboxRow
            key={a.id}
            label={a.displayName}
            checked={chosen.includes(a.id)}
            onChange={(on) => setChosen(on ? [...chosen, a.id] : chosen.filter((x) => x !== a.id))}
          />
        ))}
        {agents.data?.length === 0 && <p className="text-side text-text-3">{t("agents.none")}</p>}
      </fieldset>
      <CheckboxRow checked={shared} onChange={setShared} label={t("services.shared")} />
      <CheckboxRow checked={enabled} onChange={setEnabled} label={t("services.enabled")} />
      {save.error && !shownProblem && <ErrorNote error={save.error} area="services" />}
      <div className="flex justify-end gap-2">
        <Button onClick={onDone}>{t("common.cancel")}</Button>
        <Button type="submit" variant="primary" busy={save.isPending}>
          {t("services.save")}
        </Button>
      </div>
    </form>
  );
}
