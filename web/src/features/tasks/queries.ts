import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useMemo } from "react";
import { listAgents } from "#/api/agents";
import { createConversation } from "#/api/conversations";
import { isApiError } from "#/api/errors";
import { keys } from "#/api/keys";
import * as tasks from "#/api/tasks";
import type { Id, Task } from "#/api/types";
import { renew } from "#/lib/renew";
import { useConnection, useConversation } from "#/realtime/hooks";
import { useStore } from "#/realtime/store";
import { useUserEvents } from "#/realtime/useChannel";
import { filterQuery, joinOf, type TaskFilter, withTask } from "./states";
import { foldStep, liveSteps } from "./steps";

type Page = { tasks: Task[]; hasMore: boolean };

export function useTasks(filter: TaskFilter, who: Id | null) {
  return useInfiniteQuery({
    queryKey: keys.tasks.list(filter, who),
    queryFn: ({ signal, pageParam }) => tasks.listTasks({ ...filterQuery(filter, who), below: pageParam }, signal),
    initialPageParam: undefined as Task | undefined,
    getNextPageParam: (last: Page) => (last.hasMore ? last.tasks[last.tasks.length - 1] : undefined),
  });
}

export function useTask(id: Id) {
  return useQuery({ queryKey: keys.tasks.one(id), queryFn: ({ signal }) => tasks.getTask(id, signal) });
}

/** Keeps lists and the open task true by what the socket says, and reads them again after a gap. */
export function useTaskEvents(): void {
  const queries = useQueryClient();
  const { state } = useConnection();
  useUserEvents((event, payload) => {
    if (!event.startsWith("task_")) return;
    const moved = foldStep(event, payload);
    if (event === "task_progress") {
      // Each new step is a line of the history of the open task.
      if (moved) void renew(queries, keys.tasks.one(String(payload["taskId"])));
      return;
    }
    const task = payload as unknown as Task;
    if (!task.id || !task.updatedAt) return;
    for (const [key] of queries.getQueriesData({ queryKey: keys.tasks.lists })) {
      const [, , filter, who] = key as readonly [string, string, TaskFilter, Id | null];
      queries.setQueryData<{ pages: Page[]; pageParams: unknown[] }>(key, (old) => {
        const [first, ...rest] = old?.pages ?? [];
        if (!old || !first) return old;
        const others = rest.map((p) => ({ ...p, tasks: p.tasks.filter((x) => x.id !== task.id) }));
        return { ...old, pages: [{ ...first, tasks: withTask(first.tasks, task, filter, who) }, ...others] };
      });
    }
    for (const id of task.assignedTo ?? []) void queries.invalidateQueries({ queryKey: keys.tasks.queue(id) });
    void renew(queries, keys.tasks.one(task.id));
    if (task.parentTaskId) void renew(queries, keys.tasks.one(task.parentTaskId));
    for (const [key, data] of queries.getQueriesData({ queryKey: keys.tasks.lists })) if (data === undefined) void renew(queries, key);
  });
  useEffect(() => {
    if (state === "online") void queries.invalidateQueries({ queryKey: keys.tasks.all });
  }, [state, queries]);
}

/** What a run does now, "" when nothing is known. */
export function useTaskStep(id: Id): string {
  return useStore(
    liveSteps,
    useCallback((all) => all.get(id) ?? "", [id]),
  );
}

/** What an agent works at and what waits for it. Events of its tasks, and of their runs by the minute, keep it true. */
export function useTaskQueue(agent: Id) {
  return useQuery({ queryKey: keys.tasks.queue(agent), queryFn: ({ signal }) => tasks.listTaskQueue(agent, signal), refetchInterval: 60_000 });
}

export function useClearTasks(agent: Id) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => tasks.clearTaskQueue(agent),
    onSettled: () => queries.invalidateQueries({ queryKey: keys.tasks.all }),
  });
}

function useChange<V>(mutationFn: (v: V) => Promise<Task>) {
  const queries = useQueryClient();
  return useMutation({ mutationFn, onSettled: () => queries.invalidateQueries({ queryKey: keys.tasks.all }) });
}

export const useCancel = () => useChange((id: Id) => tasks.cancelTask(id));
export const useInterrupt = () => useChange(({ id, message }: { id: Id; message: string }) => tasks.interruptTask(id, message));
export const useReassign = () => useChange(({ id, who }: { id: Id; who: Id }) => tasks.reassignTask(id, who));
export const useRetry = () => useChange(({ id, ...changes }: { id: Id } & tasks.TaskChanges) => tasks.retryTask(id, changes));
export const useSetStatus = () => useChange(({ id, status }: { id: Id; status: string }) => tasks.setTaskStatus(id, status));
export const useAnswerTask = () => useChange(({ id, askId, answer }: { id: Id; askId: Id; answer: string }) => tasks.answerTask(id, askId, answer));
export const useWatch = () => useMutation({ mutationFn: (id: Id) => tasks.watchTask(id) });

/** The person's agents that can be asked for something. */
export const useAgentsToAsk = () =>
  useQuery({
    queryKey: keys.agents.list,
    queryFn: ({ signal }) => listAgents(signal),
    select: (all) => all.filter((a) => a.status !== "deactivated"),
  });

/** Who a task can be given to: the person's own agents, and who sits in the room where it was asked for. */
export function useCandidates(roomId: Id): { id: Id; name: string; agent: boolean }[] {
  const agents = useAgentsToAsk().data;
  const room = useConversation(roomId);
  return useMemo(() => {
    const byId = new Map((agents ?? []).map((a) => [a.id, { id: a.id, name: a.displayName, agent: true }]));
    for (const m of room?.members ?? [])
      if (m.participant && !byId.has(m.participantId))
        byId.set(m.participantId, { id: m.participantId, name: m.participant.displayName, agent: m.participant.type === "agent" });
    return [...byId.values()].sort((a, b) => Number(b.agent) - Number(a.agent) || a.name.localeCompare(b.name));
  }, [agents, room?.members]);
}

export interface Wish {
  agents: Id[];
  /** Where the result is told; null: the direct room with the first of them, which is made if there is none. */
  room: Id | null;
  title: string;
  description: string;
  /** How many of several results end the whole. */
  need: number;
}

export const useCreateTask = () =>
  useChange(async ({ agents, room, title, description, need }: Wish) => {
    const [first] = agents;
    const where = room ?? (await createConversation({ type: "direct", memberIds: first ? [first] : [] })).id;
    const join = joinOf(need, agents.length);
    return tasks.createTask(where, { title, ...(description ? { description } : {}), assignedTo: agents, ...(join ? { join } : {}) });
  });

/** The task that is open already, when one was refused because of it. */
export function twinOf(error: unknown): Task | null {
  const body = isApiError(error) && error.status === 409 ? (error.body as { status?: string; task?: Task } | null) : null;
  return body?.status === "duplicate_detected" && body.task ? body.task : null;
}
