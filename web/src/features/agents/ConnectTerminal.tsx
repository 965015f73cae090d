import { Check } from "lucide-react";
import { type FormEvent, useState } from "react";
import { serverOrigin } from "#/api/client";
import type { Agent } from "#/api/types";
import { CopyLine } from "#/components/form/CopyLine";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Button } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Field, Input } from "#/components/ui/input";
import { useT } from "#/i18n";
import { shortTime } from "#/lib/format";
import { connectLine, type TerminalTool } from "#/lib/terminal";
import { useCreateInvite, useInviteStatus, useOpenInvites, useRevokeInvite } from "./terminalQueries";

type Props = { open: boolean; onOpenChange: (open: boolean) => void };

/** Makes an invite for a person's own Claude Code or Codex, and shows the line to run there. */
export function ConnectTerminalDialog({ open, onOpenChange }: Props) {
  const t = useT();
  return (
    <Dialog open={open} onOpenChange={onOpenChange} title={t("terminal.connect")} description={t("terminal.connectHint")}>
      <div className="flex flex-col gap-5 pb-1">
        <InviteForm />
        <OpenInvites />
      </div>
    </Dialog>
  );
}

/** For a new agent, or with `agent` for a new key of that one. */
export function InviteForm({ agent }: { agent?: Agent }) {
  const t = useT();
  const [name, setName] = useState("");
  const [tool, setTool] = useState<TerminalTool>(agent?.externalTool === "codex" ? "codex" : "claude");
  const create = useCreateInvite();
  const status = useInviteStatus(create.data?.id);
  const used = status === "claimed" || status === "exhausted";
  const made = status === "revoked" || status === "expired" ? undefined : create.data;
  const submit = (e: FormEvent) => {
    e.preventDefault();
    create.mutate(agent ? { agentId: agent.id } : name.trim() ? { displayName: name.trim() } : {});
  };
  return (
    <form onSubmit={submit} noValidate className="flex flex-col gap-4">
      {!agent && (
        <Field label={t("agents.name")}>
          {(c) => <Input {...c} value={name} maxLength={100} placeholder={t("terminal.namePlaceholder")} onChange={(e) => setName(e.target.value)} />}
        </Field>
      )}
      <fieldset className="flex flex-wrap gap-x-5 gap-y-2 text-side">
        <legend className="mb-1.5 font-medium">{t("terminal.which")}</legend>
        {(["claude", "codex"] as const).map((v) => (
          <label key={v} className="flex items-center gap-2">
            <input type="radio" name="tool" checked={tool === v} onChange={() => setTool(v)} />
            {v === "claude" ? "Claude Code" : "Codex"}
          </label>
        ))}
      </fieldset>
      <ErrorNote error={create.error} />
      {made && used ? (
        <p role="status" className="flex items-start gap-2 rounded-control bg-accent-soft px-3 py-2.5 text-side">
          <Check size={16} strokeWidth={1.75} className="mt-0.5 shrink-0 text-accent-text" aria-hidden="true" />
          <span className="min-w-0 break-words">{t("terminal.used", { name: made.displayName })}</span>
        </p>
      ) : made ? (
        <div>
          <p className="mb-2 text-side text-text-2">{t("terminal.run")}</p>
          <CopyLine text={connectLine(serverOrigin(), tool, made.code)} label={t("terminal.line")} />
          <p className="mt-1.5 text-[13px] text-text-3 leading-4.5">{t("terminal.once", { time: shortTime(made.expiresAt) })}</p>
        </div>
      ) : (
        <div>
          <Button variant="primary" type="submit" busy={create.isPending}>
            {t("terminal.make")}
          </Button>
        </div>
      )}
    </form>
  );
}

function OpenInvites() {
  const t = useT();
  const open = useOpenInvites(true);
  const revoke = useRevokeInvite();
  if (!open.data || open.data.length === 0) return null;
  return (
    <section aria-label={t("terminal.open")} className="border-line border-t pt-4">
      <h3 className="mb-2 font-medium text-side">{t("terminal.open")}</h3>
      <ErrorNote error={revoke.error} />
      <ul className="flex flex-col gap-1.5">
        {open.data.map((i) => (
          <li key={i.id} className="flex items-center gap-3 text-side">
            <span className="min-w-0 flex-1 truncate">{i.displayName}</span>
            <span className="shrink-0 text-meta text-text-3">{t("terminal.until", { time: shortTime(i.expiresAt) })}</span>
            <Button size="sm" variant="quiet" disabled={revoke.isPending} onClick={() => revoke.mutate(i.id)}>
              {t("terminal.revoke")}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
