/** What runs do now. It is only told live, so it is kept here for whoever opens a task later; what was done before is in the task's history. */
import type { Id, TaskEvent } from "#/api/types";
import { createStore } from "#/realtime/store";

/** The step of each running task, by its id. */
export const liveSteps = createStore<ReadonlyMap<Id, string>>(new Map());

/** Takes one event of the user topic; true when the step of a task is another now. */
export function foldStep(event: string, payload: Record<string, unknown>): boolean {
  const id = payload["taskId"];
  if (typeof id !== "string") return false;
  const held = liveSteps.get().get(id) ?? "";
  let next = held;
  if (event === "task_progress") next = String(payload["currentStep"] || held);
  else if (event === "task_completed" || (event === "task_updated" && payload["working"] !== true)) next = "";
  if (next === held) return false;
  liveSteps.update((all) => {
    const out = new Map(all);
    if (next) out.set(id, next);
    else out.delete(id);
    return out;
  });
  return true;
}

const SHOWN = 4;

/** The newest steps of the run that goes on, oldest first: those told since it was last accepted. `history` is newest first. */
export function runSteps(history: readonly TaskEvent[], most = SHOWN): TaskEvent[] {
  const out: TaskEvent[] = [];
  for (const e of history) {
    if (e.kind === "accept") break;
    if (e.kind === "step" && e.note) out.push(e);
  }
  return out.slice(0, most).reverse();
}
