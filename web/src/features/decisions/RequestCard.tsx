import { ShieldAlert, Users } from "lucide-react";
import { type Ref, useId, useImperativeHandle, useState } from "react";
import type { Verdict } from "#/api/decisions";
import type { PermissionRequest } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Select } from "#/components/form/Select";
import { Button } from "#/components/ui/button";
import { Field, Input, Textarea } from "#/components/ui/input";
import { toast } from "#/components/ui/toast";
import { tn, useT } from "#/i18n";
import { cx } from "#/lib/cx";
import { dateTime, nameList } from "#/lib/format";
import { useSelf } from "#/lib/self";
import { useNow } from "#/lib/useNow";
import { Card, type CardHandle } from "./Card";
import { diffLines, editable, mayEdit, parseEdited, visible } from "./lists";
import { useResolve, useRevoke } from "./queries";
import { Diff, WhatRuns } from "./WhatRuns";
import { scopeWords, timeLeft, wantsWords } from "./words";

type Props = {
  request: PermissionRequest;
  /** The keys act on it. */
  current?: boolean;
  /** Where it is shown beside its room, the room need not be named. */
  inRoom?: boolean;
  handle?: Ref<CardHandle>;
};

const DAYS = [1, 7, 30, 90, 365];

/** One question of an agent: who, why, exactly what, how far a yes goes, and the answer. */
export function RequestCard({ request, current = false, inRoom = false, handle }: Props) {
  const t = useT();
  const id = useId();
  const resolve = useResolve();
  const revoke = useRevoke();
  const now = useNow(true);
  const [scope, setScope] = useState("once");
  const [days, setDays] = useState(30);
  const [note, setNote] = useState<string | null>(null);
  const [edited, setEdited] = useState<string | null>(null);

  const start = editable(request.toolName, request.toolInput);
  const parsed = edited === null ? null : parseEdited(request.toolName, edited, start.plain);
  const changed = edited !== null && edited !== start.text;
  const time = timeLeft(request.expiresAt, now);
  const name = request.agentName ?? "";
  const busy = resolve.isPending;
  // Until it is known that all of it is on the screen, it is not.
  const [hidden, setHidden] = useState(true);
  const self = useSelf();
  const two = (request.decidersNeeded ?? 1) > 1;
  const allowed = request.allowedBy?.includes(self.id) ?? false;

  const answer = async (verdict: Verdict) => {
    if (busy || time.over || (hidden && verdict.decision !== "deny") || (allowed && verdict.decision === "approve")) return;
    const text = note?.trim();
    // Not a callback of `mutate`: the news of the answer often comes before the answer, and takes this card away with its callbacks.
    const done = await resolve.mutateAsync({ id: request.id, ...verdict, ...(text ? { text } : {}) }).catch(() => null);
    const grant = done?.grantId;
    if (!grant) return;
    const until = new Date(Date.now() + days * 86_400_000).toISOString();
    toast({
      tone: "good",
      title: t("decisions.allowedToast", { date: dateTime(until) }),
      action: { label: t("decisions.undo"), run: () => revoke.mutate(grant) },
      duration: 10_000,
    });
  };
  const approve = () => {
    if (edited !== null) {
      if (parsed && changed) void answer({ decision: "edit", input: parsed });
      return;
    }
    void answer({
      decision: "approve",
      ...(request.actionHash ? { actionHash: request.actionHash } : {}),
      ...(scope === "once" ? {} : { scope, grantDays: days }),
    });
  };
  const deny = () => void answer({ decision: "deny" });
  const edit = () => {
    if (mayEdit(request)) setEdited(edited === null ? start.text : null);
  };
  useImperativeHandle(handle, () => ({ yes: approve, no: deny, change: edit }));

  return (
    <Card
      id={request.id}
      agent={{ id: request.agentId, name }}
      title={wantsWords(name, request.toolName)}
      room={!inRoom && request.conversationId ? { id: request.conversationId, title: request.conversationTitle ?? null } : undefined}
      task={request.taskId ? { id: request.taskId } : undefined}
      expiresAt={request.expiresAt}
      current={current}
      badge={
        request.risk &&
        request.risk !== "low" && (
          <span
            className={cx(
              "inline-flex shrink-0 items-center gap-1 rounded-control px-2 py-0.5 text-meta",
              request.risk === "medium" ? "bg-sunken text-text-2" : "bg-wait-soft text-wait-text",
            )}
          >
            <ShieldAlert size={13} strokeWidth={1.75} aria-hidden="true" />
            {t(`decisions.risk.${request.risk}`)}
          </span>
        )
      }
    >
      {request.reason && (
        <p className="mt-3 whitespace-pre-wrap break-words text-side text-text-2">
          <span className="sr-only">{t("decisions.why")}: </span>
          {visible(request.reason)}
        </p>
      )}
      {two && (
        <p className="mt-3 flex items-start gap-2 rounded-control bg-wait-soft px-3 py-2 text-side text-wait-text">
          <Users size={15} strokeWidth={1.75} aria-hidden="true" className="mt-0.5 shrink-0" />
          <span className="min-w-0 break-words">
            {allowed
              ? t("decisions.two.wait")
              : (request.allowedByNames?.length ?? 0) > 0
                ? t("decisions.two.second", { names: nameList(request.allowedByNames ?? []) })
                : t("decisions.two.first")}
            {request.changed && ` ${t("decisions.two.changed")}`}
          </span>
        </p>
      )}
      <div className="mt-3">
        <WhatRuns key={request.actionHash} request={request} onHidden={setHidden} />
      </div>

      {edited !== null && (
        <div className="mt-3 flex flex-col gap-3">
          <Field
            label={t("decisions.editor")}
            error={parsed === null ? t("decisions.editorBad", { tool: request.toolName }) : undefined}
            hint={changed ? undefined : t("decisions.editorSame")}
          >
            {(control) => (
              <Textarea
                {...control}
                autoFocus
                spellCheck={false}
                value={edited}
                onChange={(e) => setEdited(e.target.value)}
                className="min-h-28 font-mono text-[13px] leading-5"
              />
            )}
          </Field>
          {changed && <Diff lines={diffLines(start.text, edited)} />}
        </div>
      )}

      {note !== null && (
        <Field label={t("decisions.text")} hint={t("decisions.textHint")} className="mt-3">
          {(control) => <Input {...control} autoFocus maxLength={2000} value={note} onChange={(e) => setNote(e.target.value)} />}
        </Field>
      )}

      {edited === null && (request.scopes?.length ?? 0) > 1 && (
        <div className="mt-3 flex flex-wrap gap-2">
          <Field label={t("decisions.scope")} className="min-w-0 flex-1 basis-60">
            {(control) => (
              <Select {...control} value={scope} onChange={(e) => setScope(e.target.value)}>
                {request.scopes?.map((s) => (
                  <option key={s} value={s}>
                    {scopeWords(request, s)}
                  </option>
                ))}
              </Select>
            )}
          </Field>
          {scope !== "once" && (
            <Field label={t("decisions.days")} className="basis-36">
              {(control) => (
                <Select {...control} value={days} onChange={(e) => setDays(Number(e.target.value))}>
                  {DAYS.map((n) => (
                    <option key={n} value={n}>
                      {tn("decisions.days.n", n)}
                    </option>
                  ))}
                </Select>
              )}
            </Field>
          )}
        </div>
      )}

      <ErrorNote error={resolve.error} area="decisions" className="mt-3" />
      {hidden && (
        <p id={`${id}-unread`} className="mt-3 text-side text-wait-text">
          {t("decisions.unread")}
        </p>
      )}
      <div className="mt-4 flex flex-wrap items-center gap-2">
        <Button
          variant="primary"
          busy={busy}
          aria-describedby={hidden ? `${id}-unread` : undefined}
          disabled={time.over || hidden || (allowed && edited === null) || (edited !== null && (!parsed || !changed))}
          onClick={approve}
        >
          {edited === null ? t("decisions.approve") : t("decisions.approveEdited")}
        </Button>
        <Button disabled={busy || time.over} onClick={deny}>
          {t("decisions.deny")}
        </Button>
        {mayEdit(request) && (
          <Button variant="quiet" disabled={busy || time.over} onClick={edit}>
            {edited === null ? t("decisions.edit") : t("decisions.cancelEdit")}
          </Button>
        )}
        {note === null && (
          <Button variant="quiet" disabled={busy || time.over} onClick={() => setNote("")}>
            {t("decisions.addText")}
          </Button>
        )}
      </div>
    </Card>
  );
}
