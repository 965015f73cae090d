import { createFileRoute } from "@tanstack/react-router";
import { type TaskFilter, taskFilters } from "#/features/tasks/states";
import { type TaskLook, TasksPage, taskViews } from "#/features/tasks/TasksPage";

type Search = { look?: TaskLook; filter?: TaskFilter; task?: string };

export const Route = createFileRoute("/_app/tasks")({
  validateSearch: (search: Record<string, unknown>): Search => {
    const look = taskViews.find((x) => x === search["look"]);
    const filter = taskFilters.find((x) => x === search["filter"]);
    const task = typeof search["task"] === "string" ? search["task"] : "";
    return { ...(look && look !== "list" ? { look } : {}), ...(filter && filter !== "open" ? { filter } : {}), ...(task ? { task } : {}) };
  },
  component: Page,
});

function Page() {
  const { look, filter, task } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <TasksPage
      look={look ?? "list"}
      filter={filter ?? "open"}
      openId={task ?? null}
      onChange={(next) =>
        void navigate({
          search: (old: Search) => {
            const all: Search = { ...old };
            if (next.look) all.look = next.look;
            if (next.filter) all.filter = next.filter;
            if (next.task === null) delete all.task;
            else if (next.task) all.task = next.task;
            return all;
          },
        })
      }
    />
  );
}
