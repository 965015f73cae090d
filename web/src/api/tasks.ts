/** Tasks: what was asked for, who does it, how it stands (contract 4.8; docs/tasks.md). */
import { api } from "./client";
import type { Id, Task, TaskDetail, TaskJoin } from "./types";

const one = (id: Id) => `/api/tasks/${encodeURIComponent(id)}`;

export interface TaskQuery {
  statuses?: readonly string[] | undefined;
  mine?: boolean | undefined;
  /** Only what this participant does. */
  who?: Id | undefined;
  below?: Task | undefined;
}

/** Newest change first; `below` is the last one held. */
export function listTasks(q: TaskQuery, signal?: AbortSignal | undefined): Promise<{ tasks: Task[]; hasMore: boolean }> {
  return api.get("/api/tasks", {
    query: {
      status: q.statuses?.join(","),
      mine: q.mine ? "true" : undefined,
      assignedTo: q.who,
      before: q.below?.updatedAt,
      beforeId: q.below?.id,
      limit: 50,
    },
    signal,
  });
}

export function getTask(id: Id, signal?: AbortSignal | undefined): Promise<TaskDetail> {
  return api.get(one(id), { signal });
}

export interface NewTask {
  title: string;
  description?: string;
  /** Several get one part each; `join` says how many of them end the whole. */
  assignedTo?: Id[];
  join?: TaskJoin;
}

export function createTask(roomId: Id, task: NewTask): Promise<Task> {
  return api.post(`/api/conversations/${encodeURIComponent(roomId)}/tasks`, task);
}

export function cancelTask(id: Id): Promise<Task> {
  return api.post(`${one(id)}/cancel`, {});
}

/** With words the agent goes on with them at once; without, it waits for them. */
export function interruptTask(id: Id, message: string): Promise<Task> {
  return api.post(`${one(id)}/interrupt`, { message });
}

/** Gives it to somebody else; the run of who had it stops. */
export function reassignTask(id: Id, who: Id): Promise<Task> {
  return api.post(`${one(id)}/reassign`, { assignedTo: [who] });
}

export interface TaskChanges {
  title?: string;
  description?: string;
  assignedTo?: Id[];
  feedback?: string;
}

/** A new task in the place of one that has ended. */
export function retryTask(id: Id, changes: TaskChanges): Promise<Task> {
  return api.post(`${one(id)}/retry`, changes);
}

/** What a person does themselves. */
export function setTaskStatus(id: Id, status: string): Promise<Task> {
  return api.patch(`${one(id)}/status`, { status });
}

/** Lets the person look into the room of the work. */
export function watchTask(id: Id): Promise<Task> {
  return api.post(`${one(id)}/watch`, {});
}

export function answerTask(id: Id, askId: Id, answer: string): Promise<Task> {
  return api.post(`${one(id)}/asks/${encodeURIComponent(askId)}/answer`, { answer });
}

/** What an agent is to do: at work, ready and parked. */
export async function listTaskQueue(agent: Id, signal?: AbortSignal | undefined): Promise<Task[]> {
  const status = "pending,accepted,in_progress,blocked,waiting";
  return (await api.get<{ tasks: Task[] }>(`/api/agents/${encodeURIComponent(agent)}/task-queue`, { query: { status }, signal })).tasks;
}

/** Ends all of them, as the agent's owner. */
export function clearTaskQueue(agent: Id): Promise<{ expired: number }> {
  return api.post(`/api/agents/${encodeURIComponent(agent)}/health/clear-tasks`);
}
