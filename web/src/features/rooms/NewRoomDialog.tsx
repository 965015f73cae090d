import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import type { Participant } from "#/api/types";
import { Button } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Field, Input } from "#/components/ui/input";
import { useT } from "#/i18n";
import { errorLine } from "#/lib/errorLine";
import { useSelf } from "#/lib/self";
import { useCreateRoom, useKnownPeople } from "./data";
import { PeoplePicker } from "./PeoplePicker";

/** One person or agent: a direct room (the one that is there is opened). More: a group, with a name if one is given. */
export function NewRoomDialog({ open, onOpenChange }: { open: boolean; onOpenChange: (open: boolean) => void }) {
  const t = useT();
  const close = () => onOpenChange(false);
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t("rooms.new")} description={t("rooms.newHint")}>
      {open && <Form onDone={close} />}
    </Dialog>
  );
}

function Form({ onDone }: { onDone: () => void }) {
  const t = useT();
  const self = useSelf();
  const people = useKnownPeople(self.id);
  const [picked, setPicked] = useState<Participant[]>([]);
  const [name, setName] = useState("");
  const create = useCreateRoom();
  const navigate = useNavigate();
  const start = () => {
    const title = name.trim();
    create.mutate(
      {
        type: picked.length === 1 && !title ? "direct" : "group",
        ...(title ? { title } : {}),
        memberIds: picked.map((p) => p.id),
      },
      {
        onSuccess: (room) => {
          onDone();
          void navigate({ to: "/rooms/$roomId", params: { roomId: room.id } });
        },
      },
    );
  };
  return (
    <div className="flex flex-col gap-4">
      <PeoplePicker label={t("rooms.who")} people={people} picked={picked} onChange={setPicked} />
      {picked.length > 1 && (
        <Field label={t("rooms.name")} hint={t("rooms.nameHint")}>
          {(control) => <Input {...control} value={name} maxLength={100} onChange={(e) => setName(e.target.value)} />}
        </Field>
      )}
      {create.isError && (
        <p role="alert" className="text-bad-text text-side">
          {t("rooms.createFailed")}. {errorLine(create.error)}
        </p>
      )}
      <div className="flex items-center justify-end gap-2 pb-1">
        {people.length === 0 && (
          <Button asChild variant="secondary">
            <Link to="/agents" onClick={onDone}>
              {t("rooms.makeAgent")}
            </Link>
          </Button>
        )}
        <Button variant="primary" disabled={picked.length === 0} busy={create.isPending} onClick={start}>
          {t("rooms.start")}
        </Button>
      </div>
    </div>
  );
}
