package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/view"
)

// getTask is ours: how a task stands, with its sub-tasks.
func (t *TaskTools) getTask() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "get_task", Category: "tasks",
				Description: "Read how a task stands: its state, result and sub-tasks.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"task_id":{"type":"string","description":"\"current\" is the task of this run."}},"required":["task_id"]}`),
			},
			DisplayName: "Read a task", Tags: []string{"tasks"},
		},
		Handle: t.runGetTask,
	}
}

func (t *TaskTools) runGetTask(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	tid, err := args.TaskArg("task_id")
	if err != nil {
		return ToolResult{}, err
	}
	if tid != c.Task { // beyond its own task both must be allowed to see it
		if _, err := t.Tasks.may(ctx, t.Tasks.DB, c.Person, tid, access.ReadTask); err != nil {
			return ToolResult{}, err
		}
	}
	d, err := t.Tasks.Detail(ctx, c.Agent, tid)
	if err != nil {
		return ToolResult{}, err
	}
	out := toolTask(d.TaskView)
	out["description"] = cutText(d.Description, 6000)
	var subs []map[string]any
	for _, s := range d.Children {
		subs = append(subs, toolTask(s))
	}
	out["subtasks"] = subs
	res, err := ToolJSON(out)
	if err != nil {
		return res, err
	}
	if tainted, err := view.TaskTainted(ctx, t.Tasks.DB, c.Agent.OwnerID, tid); err != nil {
		return ToolResult{}, err
	} else if tainted {
		res.Source = "task " + tid.String()
	}
	return res, nil
}
