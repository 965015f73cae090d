import { Link } from "@tanstack/react-router";
import { Select } from "#/components/form/Select";
import { Field } from "#/components/ui/input";
import { useT } from "#/i18n";
import { type ModelChoice, modelsOf, providerOf, withBackend } from "./models";
import { useModelCatalog } from "./queries";

type Props = { value: ModelChoice; onChange: (value: ModelChoice) => void };

/** Backend and model. Without a catalog both stay at "what the bridge finds", so nothing is blocked. */
export function ModelFields({ value, onChange }: Props) {
  const t = useT();
  const catalog = useModelCatalog();
  const provider = providerOf(catalog.data, value.backend);
  const unknown = value.backend !== "" && !provider;
  return (
    <div className="flex flex-col gap-4">
      <div className="grid gap-4 sm:grid-cols-2">
        <Field label={t("agents.backend")} hint={value.backend === "" ? t("agents.backendAutoHint") : undefined}>
          {(c) => (
            <Select {...c} value={value.backend} onChange={(e) => onChange(withBackend(catalog.data, value, e.target.value))}>
              <option value="">{t("agents.backendAuto")}</option>
              {catalog.data?.providers.map((p) => (
                <option key={p.id} value={p.id}>
                  {p.label}
                </option>
              ))}
              {unknown && <option value={value.backend}>{value.backend}</option>}
            </Select>
          )}
        </Field>
        <Field label={t("agents.model")}>
          {(c) => (
            <Select {...c} value={value.model} disabled={value.backend === ""} onChange={(e) => onChange({ ...value, model: e.target.value })}>
              <option value="">{t("agents.modelDefault")}</option>
              {modelsOf(provider, value.model).map((m) => (
                <option key={m.id} value={m.id}>
                  {m.label}
                </option>
              ))}
            </Select>
          )}
        </Field>
      </div>
      {catalog.isError && <p className="text-[13px] text-text-2 leading-4.5">{t("agents.catalogFailed")}</p>}
      {provider?.requiresLlmKey && (
        <p className="text-[13px] text-text-2 leading-4.5">
          {t("agents.needsKey", { provider: provider.label })}{" "}
          <Link to="/settings" search={{ tab: "keys" }} className="font-medium text-accent-text underline-offset-2 hover:underline">
            {t("agents.openKeys")}
          </Link>
        </p>
      )}
    </div>
  );
}
