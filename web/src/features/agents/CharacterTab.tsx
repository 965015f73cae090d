import { type FormEvent, type ReactNode, useState } from "react";
import type { Agent } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { Button } from "#/components/ui/button";
import { Field, Input, Textarea } from "#/components/ui/input";
import { useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { fieldError } from "#/lib/errorText";
import { FormerSouls } from "./FormerSouls";
import { ModelFields } from "./ModelFields";
import { choiceOf, configChanges } from "./models";
import { useFieldLimits, useUpdateAgent, useUpdateModel, useUpdateSoul } from "./queries";

export function CharacterTab({ agent }: { agent: Agent }) {
  return (
    <div>
      <IdentityForm agent={agent} />
      <SoulForm agent={agent} />
      <ModelForm agent={agent} />
    </div>
  );
}

/** Save and undo, shown only while there is something to save; says "Saved" afterwards. */
function SaveBar({ dirty, busy, saved, onUndo, extra }: { dirty: boolean; busy: boolean; saved: boolean; onUndo: () => void; extra?: ReactNode }) {
  const t = useT();
  return (
    <div className="flex min-h-9 items-center gap-2">
      <Button type="submit" variant="primary" disabled={!dirty} busy={busy}>
        {t("common.save")}
      </Button>
      {dirty && !busy && (
        <Button variant="quiet" onClick={onUndo}>
          {t("common.undo")}
        </Button>
      )}
      <span role="status" className="text-side text-good-text">
        {saved && !dirty ? t("form.saved") : ""}
      </span>
      {extra && <span className="ml-auto">{extra}</span>}
    </div>
  );
}

function IdentityForm({ agent }: { agent: Agent }) {
  const t = useT();
  const limits = useFieldLimits().agent;
  const [name, setName] = useState(agent.displayName);
  const [role, setRole] = useState(agent.description ?? "");
  const save = useUpdateAgent(agent.id);
  const dirty = name.trim() !== agent.displayName || role.trim() !== (agent.description ?? "");
  const nameProblem = name.trim() === "" ? t("agents.error.displayName.missing") : fieldError(save.error, "displayName", "agents");
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (dirty && name.trim()) save.mutate({ displayName: name.trim(), description: role.trim() });
  };
  return (
    <Section title={t("agents.identity")} hint={t("agents.identityHint")}>
      <form onSubmit={submit} noValidate className="flex flex-col gap-4">
        <Field label={t("agents.name")} error={nameProblem}>
          {(c) => <Input {...c} maxLength={limits.displayName} value={name} onChange={(e) => setName(e.target.value)} />}
        </Field>
        <Field label={t("agents.role")} hint={t("agents.roleHint")} error={fieldError(save.error, "description", "agents")}>
          {(c) => <Textarea {...c} rows={3} maxLength={limits.description} value={role} onChange={(e) => setRole(e.target.value)} />}
        </Field>
        {save.error && <ErrorNote error={save.error} area="agents" />}
        <SaveBar
          dirty={dirty}
          busy={save.isPending}
          saved={save.isSuccess}
          onUndo={() => {
            setName(agent.displayName);
            setRole(agent.description ?? "");
          }}
        />
      </form>
    </Section>
  );
}

function SoulForm({ agent }: { agent: Agent }) {
  const t = useT();
  const stored = agent.soulMd ?? "";
  const [soul, setSoul] = useState(stored);
  const save = useUpdateSoul(agent.id);
  const dirty = soul !== stored;
  return (
    <Section title={t("agents.soul")} hint={t("agents.soulLong")} action={<FormerSouls agent={agent} onReverted={setSoul} />}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (dirty) save.mutate(soul);
        }}
        className="flex flex-col gap-3"
      >
        {agent.soulMdInherited && !dirty && <p className="text-side text-text-2">{t("agents.soulInherited")}</p>}
        <Textarea
          aria-label={t("agents.soul")}
          rows={14}
          spellCheck={false}
          className="resize-y font-mono text-[13.5px] leading-5"
          placeholder={t("agents.soulPlaceholder")}
          value={soul}
          onChange={(e) => setSoul(e.target.value)}
          onKeyDown={(e) => {
            if (e.key === "s" && (e.metaKey || e.ctrlKey)) {
              e.preventDefault();
              if (dirty) save.mutate(soul);
            }
          }}
        />
        {save.error && <ErrorNote error={save.error} area="agents" />}
        <SaveBar
          dirty={dirty}
          busy={save.isPending}
          saved={save.isSuccess}
          onUndo={() => setSoul(stored)}
          extra={<span className={cx("text-meta text-text-3 tabular-nums")}>{t("agents.characters", { n: [...soul].length })}</span>}
        />
      </form>
    </Section>
  );
}

function ModelForm({ agent }: { agent: Agent }) {
  const t = useT();
  const stored = choiceOf(agent.modelConfig);
  const [choice, setChoice] = useState(stored);
  const save = useUpdateModel(agent.id);
  const dirty = choice.backend !== stored.backend || choice.model !== stored.model;
  return (
    <Section title={t("agents.modelTitle")} hint={t("agents.modelHint")}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (dirty) save.mutate(configChanges(choice));
        }}
        className="flex flex-col gap-4"
      >
        <ModelFields value={choice} onChange={setChoice} />
        {save.error && <ErrorNote error={save.error} area="agents" />}
        <SaveBar dirty={dirty} busy={save.isPending} saved={save.isSuccess} onUndo={() => setChoice(stored)} />
      </form>
    </Section>
  );
}
