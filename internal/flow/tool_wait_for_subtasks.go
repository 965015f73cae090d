package flow

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/tool"
)

// waitForSubtasks is ours: it raises the barrier of a task's sub-tasks (field.md 27).
func (t *TaskTools) waitForSubtasks() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "wait_for_subtasks", Category: "tasks",
				Description: "Say when you want to be woken with the results of the tasks that you made in this one: when all have ended (also without this call), " +
					"when any has, or when count have; and after how many minutes at the latest. Then end your turn.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"task_id":{"type":"string","description":"\"current\" is the task of this run."},` +
					`"mode":{"type":"string","enum":["all","any","count"]},` +
					`"count":{"type":"integer","minimum":1,"maximum":100},` +
					`"timeout_minutes":{"type":"integer","minimum":1,"maximum":86400}},"required":["task_id","mode"]}`),
			},
			DisplayName: "Wait for sub-tasks", Tags: []string{"tasks"},
		},
		Handle: t.runWaitForSubtasks,
	}
}

func (t *TaskTools) runWaitForSubtasks(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	tid, err := args.TaskArg("task_id")
	if err != nil {
		return ToolResult{}, err
	}
	j := task.Join{Mode: task.JoinMode(args.Text("mode")), Count: args.Int("count", 1)}
	if n := args.Int("timeout_minutes", 0); n > 0 {
		j.Until = new(time.Now().Add(time.Duration(n) * time.Minute))
	}
	open, err := t.Tasks.Join(ctx, c.Agent, tid, j)
	if err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(map[string]any{"status": "waiting", "open": open, "note": "End your turn now; you are woken with the results."})
}
