import { useNavigate } from "@tanstack/react-router";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import type { Agent } from "#/api/types";
import { CopyLine } from "#/components/form/CopyLine";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Section } from "#/components/form/Section";
import { Button } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Field, Input } from "#/components/ui/input";
import { toast } from "#/components/ui/toast";
import { useT } from "#/i18n";
import { useStore } from "#/realtime/store";
import { forgetKey, freshKeys } from "./freshKeys";
import { useDeleteForever, useRegenerateKey, useSwitch } from "./queries";

export function ManageTab({ agent }: { agent: Agent }) {
  return (
    <div>
      {agent.status !== "deactivated" && <KeySection agent={agent} />}
      <CopyIdSection agent={agent} />
      <DangerSection agent={agent} />
    </div>
  );
}

function KeySection({ agent }: { agent: Agent }) {
  const t = useT();
  const key = useStore(freshKeys, (m) => m.get(agent.id));
  const [asking, setAsking] = useState(false);
  const renew = useRegenerateKey(agent.id);
  return (
    <Section title={t("agents.key")} hint={t("agents.keyHint")}>
      {key ? (
        <div className="flex flex-col gap-3">
          <p className="flex items-start gap-2 text-side text-wait-text">
            <KeyRound size={16} strokeWidth={1.75} className="mt-0.5 shrink-0" aria-hidden="true" />
            {t("agents.keyOnce")}
          </p>
          <CopyLine text={key} label={t("agents.key")} />
          <div>
            <Button onClick={() => forgetKey(agent.id)}>{t("agents.keyKept")}</Button>
          </div>
        </div>
      ) : (
        <div className="flex flex-wrap items-center gap-3">
          <code className="rounded-control bg-code px-2.5 py-1.5 font-mono text-[13.5px] leading-5 text-text-2">
            {agent.keyPrefix ? `${agent.keyPrefix}…` : "ak_…"}
          </code>
          <Button onClick={() => setAsking(true)}>{t("agents.newKey")}</Button>
        </div>
      )}
      <Dialog
        open={asking}
        onOpenChange={(open) => {
          setAsking(open);
          if (!open) renew.reset();
        }}
        title={t("agents.newKeyTitle")}
        description={t("agents.newKeyHint", { name: agent.displayName })}
        width="sm"
        footer={
          <>
            <Button autoFocus onClick={() => setAsking(false)}>
              {t("common.cancel")}
            </Button>
            <Button variant="danger" busy={renew.isPending} onClick={() => renew.mutate(undefined, { onSuccess: () => setAsking(false) })}>
              {t("agents.newKey")}
            </Button>
          </>
        }
      >
        <ErrorNote error={renew.error} />
      </Dialog>
    </Section>
  );
}

function CopyIdSection({ agent }: { agent: Agent }) {
  const t = useT();
  return (
    <Section title={t("agents.id")} hint={t("agents.idHint")}>
      <CopyLine text={agent.id} label={t("agents.id")} className="max-w-md" />
    </Section>
  );
}

function DangerSection({ agent }: { agent: Agent }) {
  const t = useT();
  const navigate = useNavigate();
  const [open, setOpen] = useState<"deactivate" | "delete" | null>(null);
  const [typed, setTyped] = useState("");
  const power = useSwitch(agent.id);
  const remove = useDeleteForever(agent.id);
  const close = () => {
    setOpen(null);
    setTyped("");
    power.reset();
    remove.reset();
  };
  const gone = (title: string) => () => {
    close();
    toast({ title });
    void navigate({ to: "/agents" });
  };
  const off = agent.status === "deactivated";
  return (
    <Section title={t("agents.danger")} tone="danger">
      <div className="flex flex-col divide-y divide-line rounded-panel border border-line">
        <div className="flex flex-wrap items-center justify-between gap-3 px-4 py-3">
          <div className="min-w-0 flex-1 basis-64">
            <p className="font-medium text-side">{t(off ? "agents.activate" : "agents.deactivate")}</p>
            <p className="text-side text-text-2">{t(off ? "agents.activateHint" : "agents.deactivateHint")}</p>
          </div>
          {off ? (
            <Button
              busy={power.isPending}
              onClick={() => power.mutate(true, { onSuccess: () => toast({ title: t("agents.activatedToast", { name: agent.displayName }) }) })}
            >
              {t("agents.activate")}
            </Button>
          ) : (
            <Button onClick={() => setOpen("deactivate")}>{t("agents.deactivate")}</Button>
          )}
        </div>
        <div className="flex flex-wrap items-center justify-between gap-3 px-4 py-3">
          <div className="min-w-0 flex-1 basis-64">
            <p className="font-medium text-side">{t("agents.delete")}</p>
            <p className="text-side text-text-2">{t("agents.deleteHint")}</p>
          </div>
          <Button variant="danger" onClick={() => setOpen("delete")}>
            {t("agents.delete")}
          </Button>
        </div>
      </div>
      {off && <ErrorNote error={power.error} className="mt-3" />}
      <Dialog
        open={open === "deactivate"}
        onOpenChange={(o) => !o && close()}
        title={t("agents.deactivateTitle", { name: agent.displayName })}
        description={t("agents.deactivateHint")}
        width="sm"
        footer={
          <>
            <Button autoFocus onClick={close}>
              {t("common.cancel")}
            </Button>
            <Button
              variant="danger"
              busy={power.isPending}
              onClick={() => power.mutate(false, { onSuccess: gone(t("agents.deactivatedToast", { name: agent.displayName })) })}
            >
              {t("agents.deactivate")}
            </Button>
          </>
        }
      >
        <ErrorNote error={power.error} />
      </Dialog>
      <Dialog
        open={open === "delete"}
        onOpenChange={(o) => !o && close()}
        title={t("agents.deleteTitle", { name: agent.displayName })}
        description={t("agents.deleteLong")}
        width="sm"
        footer={
          <>
            <Button onClick={close}>{t("common.cancel")}</Button>
            <Button
              variant="danger"
              disabled={typed.trim() !== agent.displayName}
              busy={remove.isPending}
              onClick={() => remove.mutate(typed.trim(), { onSuccess: gone(t("agents.deletedToast", { name: agent.displayName })) })}
            >
              {t("agents.delete")}
            </Button>
          </>
        }
      >
        <div className="flex flex-col gap-3">
          <Field label={t("agents.deleteType", { name: agent.displayName })}>
            {(c) => <Input {...c} autoComplete="off" autoFocus value={typed} onChange={(e) => setTyped(e.target.value)} />}
          </Field>
          <ErrorNote error={remove.error} />
        </div>
      </Dialog>
    </Section>
  );
}
