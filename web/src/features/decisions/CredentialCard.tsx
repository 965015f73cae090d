import { type Ref, useImperativeHandle, useRef, useState } from "react";
import type { CredentialRequest } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { PasswordInput } from "#/components/form/PasswordInput";
import { Button } from "#/components/ui/button";
import { Field } from "#/components/ui/input";
import { toast } from "#/components/ui/toast";
import { useT } from "#/i18n";
import { useNow } from "#/lib/useNow";
import { Card, type CardHandle } from "./Card";
import { useDecline, useFulfil } from "./queries";
import { timeLeft } from "./words";

function hostOf(endpoint: string | null | undefined): string {
  try {
    return endpoint ? new URL(endpoint).host : "";
  } catch {
    return "";
  }
}

type Props = {
  request: CredentialRequest;
  current?: boolean;
  /** Where it is shown beside its room, the room need not be named. */
  inRoom?: boolean;
  handle?: Ref<CardHandle>;
};

/** An agent asks for a secret: what, where it goes, and a field that forgets it as soon as it is given. */
export function CredentialCard({ request, current = false, inRoom = false, handle }: Props) {
  const t = useT();
  const [value, setValue] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const fulfil = useFulfil();
  const decline = useDecline();
  const time = timeLeft(request.expiresAt, useNow(true));
  const name = request.agentName ?? "";
  const host = hostOf(request.endpoint);
  const refuse = () => {
    if (!time.over && !decline.isPending) decline.mutate(request.id);
  };
  const write = () => field.current?.focus();
  useImperativeHandle(handle, () => ({ yes: write, change: write, no: refuse }));
  return (
    <Card
      id={request.id}
      agent={{ id: request.agentId, name }}
      title={t("decisions.credential.wants", { name })}
      room={!inRoom && request.conversationId ? { id: request.conversationId, title: request.conversationTitle ?? null } : undefined}
      task={request.taskId ? { id: request.taskId } : undefined}
      expiresAt={request.expiresAt}
      current={current}
    >
      {request.reason && <p className="mt-3 whitespace-pre-wrap break-words text-side text-text-2">{request.reason}</p>}
      <form
        className="mt-3"
        onSubmit={(e) => {
          e.preventDefault();
          if (value.trim() === "") return;
          // Said also when the news has taken this card away before the answer came; a failure is shown below.
          void fulfil.mutateAsync({ id: request.id, value }).then(
            () => toast({ tone: "good", title: t("decisions.credential.stored", { name }) }),
            () => undefined,
          );
          setValue("");
        }}
      >
        <Field label={request.label} hint={host ? t("decisions.credential.for", { host }) : t("decisions.credential.noHost")}>
          {(control) => <PasswordInput {...control} ref={field} autoComplete="off" value={value} onChange={(e) => setValue(e.target.value)} />}
        </Field>
        <ErrorNote error={fulfil.error ?? decline.error} area="decisions" className="mt-3" />
        <div className="mt-4 flex flex-wrap gap-2">
          <Button type="submit" variant="primary" busy={fulfil.isPending} disabled={value.trim() === "" || time.over}>
            {t("decisions.credential.give")}
          </Button>
          <Button busy={decline.isPending} disabled={time.over} onClick={refuse}>
            {t("decisions.credential.decline")}
          </Button>
        </div>
      </form>
    </Card>
  );
}
