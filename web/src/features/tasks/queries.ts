import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { listAgents } from "#/api/agents";
import { createConversation } from "#/api/conversations";
import { keys } from "#/api/keys";
import * as tasks from "#/api/tasks";
import type { Id, Task, TaskDetail } from "#/api/types";
import { useConnection } from "#/realtime/hooks";
import { useUserEvents } from "#/realtime/useChannel";
import { filterQuery, type TaskFilter, taskFilters, withTask } from "./states";

type Page = { tasks: Task[]; hasMore: boolean };

export function useTasks(filter: TaskFilter) {
  return useInfiniteQuery({
    queryKey: keys.tasks.list(filter),
    queryFn: ({ signal, pageParam }) => tasks.listTasks({ ...filterQuery(filter), before: pageParam }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (last: Page) => (last.hasMore ? last.tasks[last.tasks.length - 1]?.updatedAt : undefined),
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
    if (!event.startsWith("task_") || event === "task_progress") return;
    const task = payload as unknown as Task;
    if (!task.id || !task.updatedAt) return;
    for (const filter of taskFilters) {
      queries.setQueryData<{ pages: Page[]; pageParams: unknown[] }>(keys.tasks.list(filter), (old) => {
        const [first, ...rest] = old?.pages ?? [];
        if (!old || !first) return old;
        const others = rest.map((p) => ({ ...p, tasks: p.tasks.filter((x) => x.id !== task.id) }));
        return { ...old, pages: [{ ...first, tasks: withTask(first.tasks, task, filter) }, ...others] };
      });
    }
    if (queries.getQueryData<TaskDetail>(keys.tasks.one(task.id))) void queries.invalidateQueries({ queryKey: keys.tasks.one(task.id) });
    if (task.parentTaskId) void queries.invalidateQueries({ queryKey: keys.tasks.one(task.parentTaskId) });
  });
  useEffect(() => {
    if (state === "online") void queries.invalidateQueries({ queryKey: keys.tasks.all });
  }, [state, queries]);
}

/** What a run does now; it is only live. */
export function useTaskStep(id: Id): string {
  const [step, setStep] = useState("");
  useUserEvents((event, payload) => {
    if (payload["taskId"] !== id) return;
    if (event === "task_progress") setStep(String(payload["currentStep"] ?? ""));
    else if (event === "task_updated" || event === "task_completed") setStep("");
  });
  return step;
}

function useChange<V>(mutationFn: (v: V) => Promise<Task>) {
  const queries = useQueryClient();
  return useMutation({ mutationFn, onSettled: () => queries.invalidateQueries({ queryKey: keys.tasks.all }) });
}

export const useCancel = () => useChange((id: Id) => tasks.cancelTask(id));
export const useInterrupt = () => useChange(({ id, message }: { id: Id; message: string }) => tasks.interruptTask(id, message));
export const useRetry = () => useChange(({ id, ...changes }: { id: Id; title?: string; feedback?: string }) => tasks.retryTask(id, changes));
export const useSetStatus = () => useChange(({ id, status }: { id: Id; status: string }) => tasks.setTaskStatus(id, status));
export const useAnswerTask = () => useChange(({ id, askId, answer }: { id: Id; askId: Id; answer: string }) => tasks.answerTask(id, askId, answer));
export const useWatch = () => useMutation({ mutationFn: (id: Id) => tasks.watchTask(id) });

export const useAgentsToAsk = () => useQuery({ queryKey: keys.agents.list, queryFn: ({ signal }) => listAgents(signal) });

type Wish = { agent: Id; title: string; description: string };

/** The room is the direct one with the agent; it is made if there is none. */
export const useCreateTask = () =>
  useChange(async ({ agent, title, description }: Wish) => {
    const room = await createConversation({ type: "direct", memberIds: [agent] });
    return tasks.createTask(room.id, { title, ...(description ? { description } : {}), assignedTo: [agent] });
  });
