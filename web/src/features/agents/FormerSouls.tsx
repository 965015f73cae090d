import { History } from "lucide-react";
import { useState } from "react";
import type { FormerSoul } from "#/api/memory";
import type { Agent } from "#/api/types";
import { ErrorNote } from "#/components/form/ErrorNote";
import { Button } from "#/components/ui/button";
import { Dialog } from "#/components/ui/dialog";
import { Skeleton } from "#/components/ui/states";
import { useT } from "#/i18n";
import { exactTime, shortTime } from "#/lib/format";
import { useFormerSouls, useRevertSoul } from "./memoryQueries";

/** What the agent was before, and back to it. Nothing is lost: what is in force now is kept as well. */
export function FormerSouls({ agent, onReverted }: { agent: Agent; onReverted: (soul: string) => void }) {
  const t = useT();
  const [open, setOpen] = useState(false);
  const list = useFormerSouls(agent.id, open);
  const revert = useRevertSoul(agent.id);
  const back = (v: FormerSoul) =>
    revert.mutate(v.id, {
      onSuccess: (now) => {
        onReverted(now.soulMd ?? "");
        setOpen(false);
      },
    });
  return (
    <>
      <Button variant="quiet" onClick={() => setOpen(true)}>
        <History size={16} strokeWidth={1.75} />
        {t("memory.souls")}
      </Button>
      <Dialog open={open} onOpenChange={setOpen} title={t("memory.souls")} description={t("memory.soulsHint")} width="lg">
        <ErrorNote error={revert.error} className="mb-3" />
        {list.isPending ? (
          <Skeleton className="h-32 w-full" />
        ) : !list.data ? (
          <ErrorNote error={list.error} onRetry={() => void list.refetch()} />
        ) : list.data.length === 0 ? (
          <p className="pb-2 text-side text-text-3">{t("memory.noSouls")}</p>
        ) : (
          <ul className="flex flex-col gap-3 pb-2">
            {list.data.map((v) => (
              <li key={v.id} className="rounded-panel border border-line p-3">
                <div className="mb-2 flex flex-wrap items-center gap-x-3 gap-y-1">
                  <p className="min-w-0 flex-1 text-side text-text-2">
                    {v.replacedByName ? t("memory.soulUntilBy", { name: v.replacedByName }) : t("memory.soulUntil")}{" "}
                    <time dateTime={v.replacedAt} title={exactTime(v.replacedAt)}>
                      {shortTime(v.replacedAt)}
                    </time>
                  </p>
                  <Button size="sm" busy={revert.isPending && revert.variables === v.id} disabled={revert.isPending} onClick={() => back(v)}>
                    {t("memory.soulBack")}
                  </Button>
                </div>
                <pre className="max-h-40 overflow-y-auto whitespace-pre-wrap break-words font-mono text-[13px] text-text-2 leading-5">
                  {v.soulMd || t("memory.soulEmpty")}
                </pre>
              </li>
            ))}
          </ul>
        )}
      </Dialog>
    </>
  );
}
