import { useState } from "react";
import type { Agent, Conversation, Id } from "#/api/types";
import { CheckboxRow } from "#/components/form/Checkbox";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Select } from "#/components/form/Select";
import { Button } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Field, Input, Textarea } from "#/components/ui/input";
import { Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { roomTitle } from "#/lib/rooms";
import { useSelf } from "#/lib/self";
import { useConversations } from "#/realtime/hooks";
import { twinOf, useAgentsToAsk, useCreateTask } from "./queries";

type Props = { open: boolean; onOpenChange: (open: boolean) => void; onMade: (id: Id) => void };

/** Asks one or several of the person's agents for a task: in the direct room with the first, or in a group where all of them sit. */
export function NewTaskDialog({ open, onOpenChange, onMade }: Props) {
  const t = useT();
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t("tasks.new")} description={t("tasks.newHint")}>
      {open && <NewTaskForm onMade={onMade} />}
    </Dialog>
  );
}

function NewTaskForm({ onMade }: { onMade: (id: Id) => void }) {
  const t = useT();
  const agents = useAgentsToAsk();
  if (agents.isPending) return <Skeleton className="mb-2 h-56 w-full" />;
  if (!agents.data) return <ErrorNote error={agents.error} onRetry={() => void agents.refetch()} />;
  if (agents.data.length === 0) return <p className="pb-1 text-side text-text-2">{t("tasks.newNoAgent")}</p>;
  return <Form agents={agents.data} onMade={onMade} />;
}

/** Group rooms in which all of them sit. */
function roomsOf(rooms: readonly Conversation[], agents: readonly Id[]): Conversation[] {
  const inside = (room: Conversation, id: Id) => room.members?.some((m) => m.participantId === id) ?? false;
  return rooms.filter((r) => (r.type === "group" || r.type === "channel") && agents.every((id) => inside(r, id)));
}

function Form({ agents, onMade }: { agents: readonly Agent[]; onMade: (id: Id) => void }) {
  const t = useT();
  const self = useSelf();
  const create = useCreateTask();
  const { rooms } = useConversations();
  const [chosen, setChosen] = useState<readonly Id[]>(agents.length === 1 && agents[0] ? [agents[0].id] : []);
  const [title, setTitle] = useState("");
  const [description, setDescription] = useState("");
  const [room, setRoom] = useState("");
  const [wanted, setWanted] = useState(0);
  const groups = chosen.length > 0 ? roomsOf(rooms, chosen) : [];
  const where = groups.some((r) => r.id === room) ? room : "";
  // 0 stands for all of them, however many are chosen later.
  const need = wanted === 0 || wanted >= chosen.length ? chosen.length : wanted;
  const nameOf = (id: Id | undefined) => agents.find((a) => a.id === id)?.displayName ?? "";
  const ready = chosen.length > 0 && title.trim() !== "";
  const twin = twinOf(create.error);
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(e) => {
        e.preventDefault();
        if (!ready) return;
        create.mutate(
          { agents: [...chosen], room: where || null, title: title.trim(), description: description.trim(), need },
          { onSuccess: (task) => onMade(task.id) },
        );
      }}
    >
      <Field label={t("tasks.retryTitle")}>
        {(control) => <Input {...control} value={title} maxLength={200} onChange={(e) => setTitle(e.target.value)} />}
      </Field>
      <Field label={t("tasks.description")}>
        {(control) => <Textarea {...control} value={description} maxLength={20_000} onChange={(e) => setDescription(e.target.value)} />}
      </Field>
      <fieldset>
        <legend className="mb-1.5 font-medium text-side">{t("tasks.newAgent")}</legend>
        <div className="flex max-h-44 flex-col gap-2 overflow-y-auto">
          {agents.map((a) => (
            <CheckboxRow
              key={a.id}
              label={a.displayName}
              checked={chosen.includes(a.id)}
              onChange={(on) => setChosen(on ? [...chosen, a.id] : chosen.filter((x) => x !== a.id))}
            />
          ))}
        </div>
        <p className="mt-1.5 text-[13px] text-text-3 leading-4.5">{t("tasks.newSeveral")}</p>
      </fieldset>
      {chosen.length > 1 && (
        <Field label={t("tasks.newNeed")}>
          {(control) => (
            <Select {...control} value={String(need === chosen.length ? 0 : need)} onChange={(e) => setWanted(Number(e.target.value))}>
              <option value="0">{t("tasks.need.all")}</option>
              {Array.from({ length: chosen.length - 1 }, (_, i) => chosen.length - 1 - i).map((n) => (
                <option key={n} value={n}>
                  {n === 1 ? t("tasks.need.any") : t("tasks.need.count", { n, all: chosen.length })}
                </option>
              ))}
            </Select>
          )}
        </Field>
      )}
      {groups.length > 0 && (
        <Field label={t("tasks.newRoom")}>
          {(control) => (
            <Select {...control} value={where} onChange={(e) => setRoom(e.target.value)}>
              <option value="">{t("tasks.newDirect", { name: nameOf(chosen[0]) })}</option>
              {groups.map((r) => (
                <option key={r.id} value={r.id}>
                  {roomTitle(r, self.id)}
                </option>
              ))}
            </Select>
          )}
        </Field>
      )}
      {twin ? (
        <div role="alert" className="flex flex-wrap items-center gap-3 rounded-control border border-wait-line bg-wait-soft px-3 py-2.5 text-side">
          <p className="min-w-0 flex-1 basis-48 text-wait-text">{t("tasks.twin")}</p>
          <Button size="sm" onClick={() => onMade(twin.id)}>
            {t("tasks.twinOpen")}
          </Button>
        </div>
      ) : (
        <ErrorNote error={create.error} area="tasks" />
      )}
      <div className="flex justify-end pb-1">
        <Button type="submit" variant="primary" disabled={!ready} busy={create.isPending}>
          {t("tasks.newSend")}
        </Button>
      </div>
    </form>
  );
}
