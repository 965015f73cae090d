package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/tool"
)

// updateTask is update_task (bridge contract 5.3).
func (t *TaskTools) updateTask() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "update_task", ExecutorMethod: "update_task", Category: "tasks",
				Description: "Change the title or the description of a task that you made or do.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"task_id":{"type":"string","description":"\"current\" is the task of this run."},` +
					`"title":{"type":"string","minLength":1,"maxLength":200},"description":{"type":"string","maxLength":30000}},"required":["task_id"]}`),
			},
			DisplayName: "Change a task", Tags: []string{"tasks"},
		},
		Handle: t.runUpdateTask,
	}
}

func (t *TaskTools) runUpdateTask(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	tid, err := t.taskFor(ctx, c, args)
	if err != nil {
		return ToolResult{}, err
	}
	var e Edit
	if args.Has("title") {
		e.Title = new(args.Text("title"))
	}
	if args.Has("description") {
		e.Description = new(args.Text("description"))
	}
	v, err := t.Tasks.Change(ctx, c.Agent, tid, e)
	if err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(toolTask(v))
}
