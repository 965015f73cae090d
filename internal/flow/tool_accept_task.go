package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/tool"
)

// acceptTask is accept_task_rest (bridge contract 5.3).
func (t *TaskTools) acceptTask() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "accept_task_rest", ExecutorMethod: "accept_task_rest", Category: "tasks",
				Description: "Say that you take on a task that was given to you.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"task_id":{"type":"string","description":"\"current\" is the task of this run."}},"required":["task_id"]}`),
			},
			DisplayName: "Take on a task", Tags: []string{"tasks"},
		},
		Handle: func(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
			tid, err := t.taskFor(ctx, c, args)
			if err != nil {
				return ToolResult{}, err
			}
			v, err := t.Tasks.AcceptByREST(ctx, c.Agent, tid)
			if err != nil {
				return ToolResult{}, err
			}
			return ToolJSON(toolTask(v))
		},
	}
}
