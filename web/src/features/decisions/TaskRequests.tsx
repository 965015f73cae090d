import { useMemo } from "react";
import type { Id } from "#/api/types";
import { AskForm } from "./AskCard";
import { CredentialCard } from "./CredentialCard";
import { useAsks, useCredentials, usePending } from "./queries";
import { RequestCard } from "./RequestCard";

type Props = {
  taskId: Id;
  /** What is asked in this room is shown there already. */
  exceptRoom?: Id;
  /** The question of the task too, where nothing else shows it. */
  withAsk?: boolean;
};

/** What a task waits for this person to say: permission, a secret or an answer. Null when it waits for nothing of theirs. */
export function useTaskRequests({ taskId, exceptRoom, withAsk = false }: Props) {
  const elsewhere = (r: { taskId?: Id | null; conversationId?: Id | null }) =>
    r.taskId === taskId && (!exceptRoom || r.conversationId !== exceptRoom);
  const requests = (usePending().data ?? []).filter(elsewhere);
  const secrets = (useCredentials().data ?? []).filter(elsewhere);
  const asks = (useAsks() ?? []).filter((a) => withAsk && a.taskId === taskId);
  if (requests.length + secrets.length + asks.length === 0) return null;
  return (
    <div className="flex flex-col gap-3">
      {asks.map((a) => (
        <div key={a.id}>
          <AskForm ask={a} />
        </div>
      ))}
      {requests.map((r) => (
        <RequestCard key={r.id} request={r} inRoom />
      ))}
      {secrets.map((c) => (
        <CredentialCard key={c.id} request={c} inRoom />
      ))}
    </div>
  );
}

/** Tasks that wait for this person, by their ids. */
export function useWaitingTasks(): ReadonlySet<Id> {
  const pending = usePending().data;
  const secrets = useCredentials().data;
  const asks = useAsks();
  return useMemo(() => {
    const all = [...(pending ?? []), ...(secrets ?? []), ...(asks ?? [])];
    return new Set(all.map((x) => x.taskId).filter((id) => typeof id === "string"));
  }, [pending, secrets, asks]);
}

export function TaskRequests(props: Props) {
  const shown = useTaskRequests(props);
  return shown && <div className="mt-4">{shown}</div>;
}
