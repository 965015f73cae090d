package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/tool"
)

// updateTaskStatus is update_task_status (bridge contract 5.3): interim states only.
func (t *TaskTools) updateTaskStatus() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "update_task_status", ExecutorMethod: "update_task_status", Category: "tasks",
				Description: "Say how a task stands: accepted, in_progress, waiting or blocked. waiting and blocked end your run; summary is then the question " +
					"that a person is asked, and you are woken with the answer. End a task with complete_task or fail_task.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"task_id":{"type":"string","description":"\"current\" is the task of this run."},` +
					`"status":{"type":"string","enum":["accepted","in_progress","waiting","blocked"]},` +
					`"summary":{"type":"string"},"completion_details":{"type":["object","null"]},"silent":{"type":"boolean"}},"required":["task_id","status"]}`),
			},
			DisplayName: "Set the state of a task", Tags: []string{"tasks"},
		},
		Handle: t.runUpdateTaskStatus,
	}
}

func (t *TaskTools) runUpdateTaskStatus(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	tid, err := t.taskFor(ctx, c, args)
	if err != nil {
		return ToolResult{}, err
	}
	v, err := t.Tasks.SetStatus(ctx, c.Agent, tid, task.Status(args.Text("status")), TaskResult{
		Summary: args.Text("summary"), Silent: args.Bool("silent"), CompletionDetails: args.Object("completion_details"),
	})
	if err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(toolTask(v))
}
