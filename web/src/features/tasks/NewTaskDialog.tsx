import { useState } from "react";
import type { Id } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Select } from "#/components/form/Select";
import { Button } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Field, Input, Textarea } from "#/components/ui/input";
import { useT } from "#/i18n";
import { useAgentsToAsk, useCreateTask } from "./queries";

type Props = { open: boolean; onOpenChange: (open: boolean) => void; onMade: (id: Id) => void };

/** Asks one of the person's agents for a task, in the direct room with it. */
export function NewTaskDialog({ open, onOpenChange, onMade }: Props) {
  const t = useT();
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t("tasks.new")} description={t("tasks.newHint")}>
      {open && <Form onMade={onMade} />}
    </Dialog>
  );
}

function Form({ onMade }: { onMade: (id: Id) => void }) {
  const t = useT();
  const agents = useAgentsToAsk();
  const create = useCreateTask();
  const [agentId, setAgentId] = useState("");
  const [title, setTitle] = useState("");
  const [description, setDescription] = useState("");
  if (agents.isError) return <ErrorNote error={agents.error} onRetry={() => void agents.refetch()} />;
  if (agents.data?.length === 0) return <p className="pb-1 text-side text-text-2">{t("tasks.newNoAgent")}</p>;
  const agent = agentId || agents.data?.[0]?.id || "";
  const ready = agent !== "" && title.trim() !== "";
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(e) => {
        e.preventDefault();
        if (ready) create.mutate({ agent, title: title.trim(), description: description.trim() }, { onSuccess: (task) => onMade(task.id) });
      }}
    >
      <Field label={t("tasks.newAgent")}>
        {(control) => (
          <Select {...control} value={agent} onChange={(e) => setAgentId(e.target.value)}>
            {agents.data?.map((a) => (
              <option key={a.id} value={a.id}>
                {a.displayName}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <Field label={t("tasks.retryTitle")}>
        {(control) => <Input {...control} value={title} maxLength={200} onChange={(e) => setTitle(e.target.value)} />}
      </Field>
      <Field label={t("tasks.description")}>
        {(control) => <Textarea {...control} value={description} onChange={(e) => setDescription(e.target.value)} />}
      </Field>
      <ErrorNote error={create.error} />
      <div className="flex justify-end pb-1">
        <Button type="submit" variant="primary" disabled={!ready} busy={create.isPending}>
          {t("tasks.newSend")}
        </Button>
      </div>
    </form>
  );
}
