import { createFileRoute } from "@tanstack/react-router";
import { TaskRequests, useWaitingTasks } from "#/features/decisions/TaskRequests";
import { type TaskFilter, taskFilters } from "#/features/tasks/states";
import { type TaskLook, TasksPage, taskViews } from "#/features/tasks/TasksPage";

type Search = { look?: TaskLook; filter?: TaskFilter; who?: string; task?: string; create?: true };

export const Route = createFileRoute("/_app/tasks")({
  validateSearch: (search: Record<string, unknown>): Search => {
    const look = taskViews.find((x) => x === search["look"]);
    const filter = taskFilters.find((x) => x === search["filter"]);
    const word = (key: string) => (typeof search[key] === "string" ? search[key] : "");
    const [who, task] = [word("who"), word("task")];
    return {
      ...(look && look !== "list" ? { look } : {}),
      ...(filter && filter !== "open" ? { filter } : {}),
      ...(who ? { who } : {}),
      ...(task ? { task } : {}),
      ...(search["create"] === true ? { create: true as const } : {}),
    };
  },
  component: Page,
});

function Page() {
  const { look, filter, who, task, create } = Route.useSearch();
  const navigate = Route.useNavigate();
  const waiting = useWaitingTasks();
  return (
    <TasksPage
      look={look ?? "list"}
      filter={filter ?? "open"}
      who={who ?? null}
      openId={task ?? null}
      creating={create ?? false}
      waiting={waiting}
      requests={(id) => <TaskRequests taskId={id} />}
      onChange={(next) =>
        void navigate({
          search: (old: Search) => {
            const all: Search = { ...old };
            if (next.look) all.look = next.look;
            if (next.filter) all.filter = next.filter;
            if (next.creating === false) delete all.create;
            else if (next.creating) all.create = true;
            if (next.who === null) delete all.who;
            else if (next.who) all.who = next.who;
            if (next.task === null) delete all.task;
            else if (next.task) all.task = next.task;
            return all;
          },
        })
      }
    />
  );
}
