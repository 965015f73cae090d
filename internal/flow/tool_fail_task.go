package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/tool"
)

// failTask is fail_task (bridge contract 2.8.1). A second end is already_ended.
func (t *TaskTools) failTask() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "fail_task", ExecutorMethod: "fail_task", Category: "tasks", AlwaysLoad: true,
				Description: "Give the task that you work at up, because it cannot be done. When a person could help, use ask_person instead.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"task_id":{"type":"string","description":"\"current\" is the task of this run."},` +
					`"error":{"type":"string","description":"Why it cannot be done."},` +
					`"summary":{"type":"string","description":"What was done all the same."},` +
					`"silent":{"type":"boolean","description":"true: nothing is posted."},` +
					`"conversation_id":{"type":"string"},"active_conversation_id":{"type":"string"}},"required":["task_id"]}`),
			},
			DisplayName: "Give a task up", Tags: []string{"tasks"}, Essential: true, Limits: tool.Limits{PerMinute: 120},
		},
		Handle: t.runFailTask,
	}
}

func (t *TaskTools) runFailTask(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	tid, err := args.TaskArg("task_id")
	if err != nil {
		return ToolResult{}, err
	}
	if err := t.Tasks.Fail(ctx, c.Agent, tid, args.Text("error"), args.Text("summary"), args.Bool("silent")); err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(map[string]any{"status": "failed", "task_id": tid})
}
