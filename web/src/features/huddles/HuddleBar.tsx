import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Conversation } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { FormDialog } from "#/components/form/FormDialog";
import { Select } from "#/components/form/Select";
import { Button } from "#/components/ui/button";
import { Field, Textarea } from "#/components/ui/input";
import { toast } from "#/components/ui/toast";
import { useT } from "#/i18n";
import { errorLine } from "#/lib/errorLine";
import { type Huddle, huddleOutcomes, seatOf } from "#/lib/huddles";
import { StateIcon } from "./HuddleCard";
import { useCompleteHuddle, useJoinHuddle } from "./queries";

const MAX_SUMMARY = 4000;

/** Above the messages of a huddle: where it belongs, what it is to come to, and for who takes part the way to close it. */
export function HuddleBar({
  room,
  huddle,
  sourceTitle,
  selfId,
}: {
  room: Conversation;
  huddle: Huddle;
  /** Null where the room above is on the screen beside it. */
  sourceTitle: string | null;
  selfId: string;
}) {
  const t = useT();
  const [closing, setClosing] = useState(false);
  const mayClose = seatOf(room, selfId) === "member" && huddle.status === "open";
  if (sourceTitle === null && !huddle.goal && !mayClose) return null;
  return (
    <div className="flex shrink-0 flex-wrap items-center gap-x-3 gap-y-1 border-line border-b bg-sunken/60 px-4 py-1.5 text-[13px] leading-5 sm:px-5">
      <span className="flex min-w-0 flex-1 basis-48 items-start gap-2">
        <span className="pt-0.5">
          <StateIcon status={huddle.status} />
        </span>
        <span className="min-w-0 text-pretty break-words">
          {sourceTitle !== null && (
            <Link
              to="/rooms/$roomId"
              params={{ roomId: huddle.sourceId }}
              className="hit rounded-control text-accent-text underline decoration-accent-line underline-offset-2"
            >
              {sourceTitle ? t("huddle.below", { room: sourceTitle }) : t("huddle.belowUnknown")}
            </Link>
          )}
          {sourceTitle !== null && huddle.goal && <span className="text-text-3"> · </span>}
          {huddle.goal && <span className="text-text-2">{t("huddle.goalIs", { goal: huddle.goal })}</span>}
        </span>
      </span>
      {mayClose && (
        <Button size="sm" onClick={() => setClosing(true)}>
          {t("huddle.close")}
        </Button>
      )}
      {closing && <CloseDialog room={room} onDone={() => setClosing(false)} />}
    </div>
  );
}

function CloseDialog({ room, onDone }: { room: Conversation; onDone: () => void }) {
  const t = useT();
  const [outcome, setOutcome] = useState<string>("resolved");
  const [summary, setSummary] = useState("");
  const close = useCompleteHuddle(room);
  return (
    <FormDialog
      title={t("huddle.close")}
      description={t("huddle.closeHint")}
      busy={close.isPending}
      disabled={summary.trim() === ""}
      onSubmit={() => {
        if (summary.trim() !== "") close.mutate({ outcome, summary: summary.trim() }, { onSuccess: onDone });
      }}
      onClose={onDone}
    >
      <Field label={t("huddle.summary")} hint={t("huddle.summaryHint")}>
        {(control) => <Textarea {...control} maxLength={MAX_SUMMARY} value={summary} onChange={(e) => setSummary(e.target.value)} />}
      </Field>
      <Field label={t("huddle.outcome")}>
        {(control) => (
          <Select {...control} value={outcome} onChange={(e) => setOutcome(e.target.value)}>
            {huddleOutcomes.map((o) => (
              <option key={o} value={o}>
                {t(`huddle.state.${o}`)}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <ErrorNote error={close.error} />
    </FormDialog>
  );
}

/** Stands where one would write, for who may not: the huddle is closed, or one only looks in. Null for who may write. */
export function HuddleFoot({ room, huddle, selfId }: { room: Conversation; huddle: Huddle; selfId: string }) {
  const t = useT();
  const join = useJoinHuddle(room, selfId);
  const foot = "flex flex-wrap items-center justify-center gap-x-3 gap-y-2 border-line border-t px-4 py-3 text-side text-text-2";
  if (huddle.status !== "open") {
    const who = room.members?.find((m) => m.participantId === huddle.closedBy)?.participant?.displayName;
    return (
      <div className={foot}>
        <p className="max-w-[720px] text-pretty text-center">
          {who ? t("huddle.closedBy", { name: who, outcome: t(`huddle.state.${huddle.outcome || huddle.status}`) }) : t("huddle.closed")}
          {huddle.summary && <span className="block break-words text-text">{huddle.summary}</span>}
        </p>
      </div>
    );
  }
  return (
    <div className={foot}>
      <p>{t("huddle.looking")}</p>
      <Button
        busy={join.isPending}
        onClick={() => join.mutate(undefined, { onError: (e) => toast({ title: t("huddle.joinFailed"), detail: errorLine(e), tone: "bad" }) })}
      >
        {t("huddle.join")}
      </Button>
    </div>
  );
}
