import { useNavigate } from "@tanstack/react-router";
import { type FormEvent, useState } from "react";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Button } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Field, Input, Textarea } from "#/components/ui/input";
import { useT } from "#/i18n";
import { fieldError } from "#/lib/errorText";
import { ModelFields } from "./ModelFields";
import { configChanges, type ModelChoice } from "./models";
import { useCreateAgent, useFieldLimits } from "./queries";

type Props = { open: boolean; onOpenChange: (open: boolean) => void };

export function CreateAgentDialog({ open, onOpenChange }: Props) {
  const t = useT();
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t("agents.create")} description={t("agents.createHint")}>
      <CreateForm onClose={() => onOpenChange(false)} />
    </Dialog>
  );
}

function CreateForm({ onClose }: { onClose: () => void }) {
  const t = useT();
  const navigate = useNavigate();
  const limits = useFieldLimits().agent;
  const [name, setName] = useState("");
  const [role, setRole] = useState("");
  const [soul, setSoul] = useState("");
  const [choice, setChoice] = useState<ModelChoice>({ backend: "", model: "" });
  const [tried, setTried] = useState(false);
  const create = useCreateAgent();
  const nameProblem = tried && !name.trim() ? t("agents.error.displayName.missing") : fieldError(create.error, "displayName", "agents");
  const submit = (e: FormEvent) => {
    e.preventDefault();
    setTried(true);
    if (!name.trim()) return;
    const config = choice.backend ? configChanges(choice) : undefined;
    create.mutate(
      {
        displayName: name.trim(),
        ...(role.trim() ? { description: role.trim() } : {}),
        ...(soul.trim() ? { soulMd: soul.trim() } : {}),
        ...(config ? { modelConfig: config } : {}),
      },
      {
        onSuccess: (agent) => {
          onClose();
          void navigate({ to: "/agents/$agentId", params: { agentId: agent.id } });
        },
      },
    );
  };
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4 pb-1">
      <Field label={t("agents.name")} error={nameProblem}>
        {(c) => (
          <Input
            {...c}
            autoFocus
            maxLength={limits.displayName}
            placeholder={t("agents.namePlaceholder")}
            value={name}
            onChange={(e) => setName(e.target.value)}
          />
        )}
      </Field>
      <Field label={t("agents.role")} hint={t("agents.roleHint")} error={fieldError(create.error, "description", "agents")}>
        {(c) => (
          <Textarea
            {...c}
            rows={2}
            maxLength={limits.description}
            placeholder={t("agents.rolePlaceholder")}
            value={role}
            onChange={(e) => setRole(e.target.value)}
          />
        )}
      </Field>
      <details className="group rounded-control">
        <summary className="w-fit text-side text-text-2 underline-offset-2 hover:underline">{t("agents.more")}</summary>
        <div className="mt-4 flex flex-col gap-4">
          <Field label={t("agents.soul")} hint={t("agents.soulHint")} error={fieldError(create.error, "soulMd", "agents")}>
            {(c) => (
              <Textarea
                {...c}
                rows={4}
                className="font-mono text-[13.5px] leading-5"
                placeholder={t("agents.soulPlaceholder")}
                value={soul}
                onChange={(e) => setSoul(e.target.value)}
              />
            )}
          </Field>
          <ModelFields value={choice} onChange={setChoice} />
        </div>
      </details>
      {create.error && !nameProblem && <ErrorNote error={create.error} area="agents" />}
      <div className="flex justify-end gap-2">
        <Button onClick={onClose}>{t("common.cancel")}</Button>
        <Button type="submit" variant="primary" busy={create.isPending}>
          {t("agents.createDo")}
        </Button>
      </div>
    </form>
  );
}
