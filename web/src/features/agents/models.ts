/** Reading the model catalog: which backends there are, what a model is called, and what is chosen when the backend changes. Pure. */
import type { CatalogModel, CatalogProvider, ModelCatalog, ModelConfig } from "#/api/types";

export interface ModelChoice {
  /** "" : the bridge decides by what is installed where it runs. */
  backend: string;
  /** "" : the backend's own default. */
  model: string;
}

export function providerOf(catalog: ModelCatalog | undefined, backend: string): CatalogProvider | undefined {
  return catalog?.providers.find((p) => p.id === backend);
}

/** Current models first, in the server's order; an old one stays choosable while it is the one in use. */
export function modelsOf(provider: CatalogProvider | undefined, current: string): CatalogModel[] {
  const all = provider?.models ?? [];
  const shown = all.filter((m) => !m.legacy || m.id === current);
  if (current && !all.some((m) => m.id === current)) return [...shown, { id: current, label: current }];
  return shown;
}

export function choiceOf(config: ModelConfig | undefined): ModelChoice {
  return { backend: config?.backend ?? "", model: config?.model ?? "" };
}

/** A model that the new backend has too is kept. */
export function withBackend(catalog: ModelCatalog | undefined, choice: ModelChoice, backend: string): ModelChoice {
  const has = providerOf(catalog, backend)?.models.some((m) => m.id === choice.model);
  return { backend, model: has ? choice.model : "" };
}

/** Null clears: "leave" and "clear" differ on the wire. */
export function configChanges(choice: ModelChoice): ModelConfig {
  return { backend: choice.backend || null, model: choice.model || null };
}

export function modelLabel(catalog: ModelCatalog | undefined, model: string | null | undefined): string {
  if (!model) return "";
  for (const p of catalog?.providers ?? []) {
    for (const m of p.models) if (m.id === model || Object.values(m.runtimes ?? {}).includes(model)) return m.label;
  }
  return model;
}

export function backendLabel(catalog: ModelCatalog | undefined, backend: string | null | undefined): string {
  if (!backend) return "";
  return providerOf(catalog, backend)?.label ?? backend;
}
