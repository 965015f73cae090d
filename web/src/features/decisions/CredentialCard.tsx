import { Link } from "@tanstack/react-router";
import { useId, useState } from "react";
import type { CredentialRequest } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { PasswordInput } from "#/components/form/PasswordInput";
import { Avatar } from "#/components/ui/avatar";
import { Button } from "#/components/ui/button";
import { Field } from "#/components/ui/input";
import { toast } from "#/components/ui/toast";
import { useT } from "#/i18n";
import { useNow } from "#/lib/useNow";
import { useDecline, useFulfil } from "./queries";
import { timeLeft } from "./words";

function hostOf(endpoint: string | null | undefined): string {
  try {
    return endpoint ? new URL(endpoint).host : "";
  } catch {
    return "";
  }
}

/** An agent asks for a secret: what, where it goes, and a field that forgets it as soon as it is given. */
export function CredentialCard({ request }: { request: CredentialRequest }) {
  const t = useT();
  const id = useId();
  const [value, setValue] = useState("");
  const fulfil = useFulfil();
  const decline = useDecline();
  const time = timeLeft(request.expiresAt, useNow(true));
  const name = request.agentName ?? "";
  const host = hostOf(request.endpoint);
  return (
    <article aria-labelledby={`${id}-title`} className="rounded-panel border border-line bg-raised p-4">
      <header className="flex items-start gap-3">
        <Avatar id={request.agentId} name={name} kind="agent" size={36} />
        <div className="min-w-0 flex-1">
          <h2 id={`${id}-title`} className="break-words font-medium text-body">
            {t("decisions.credential.wants", { name })}
          </h2>
          <p className="flex flex-wrap gap-x-2 text-meta text-text-3">
            {request.conversationId && (
              <Link
                to="/rooms/$roomId"
                params={{ roomId: request.conversationId }}
                className="rounded-control underline-offset-2 hover:text-text hover:underline"
              >
                {t("decisions.inRoom", { room: name })}
              </Link>
            )}
            <span>{time.words}</span>
          </p>
        </div>
      </header>
      {request.reason && <p className="mt-3 whitespace-pre-wrap break-words text-side text-text-2">{request.reason}</p>}
      <form
        className="mt-3"
        onSubmit={(e) => {
          e.preventDefault();
          if (value.trim() === "") return;
          fulfil.mutate({ id: request.id, value }, { onSuccess: () => toast({ tone: "good", title: t("decisions.credential.stored", { name }) }) });
          setValue("");
        }}
      >
        <Field label={request.label} hint={host ? t("decisions.credential.for", { host }) : t("decisions.credential.noHost")}>
          {(control) => <PasswordInput {...control} autoComplete="off" value={value} onChange={(e) => setValue(e.target.value)} />}
        </Field>
        <ErrorNote error={fulfil.error ?? decline.error} area="decisions" className="mt-3" />
        <div className="mt-4 flex flex-wrap gap-2">
          <Button type="submit" variant="primary" busy={fulfil.isPending} disabled={value.trim() === "" || time.over}>
            {t("decisions.credential.give")}
          </Button>
          <Button busy={decline.isPending} disabled={time.over} onClick={() => decline.mutate(request.id)}>
            {t("decisions.credential.decline")}
          </Button>
        </div>
      </form>
    </article>
  );
}
