package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/tool"
)

// reportStepProgress is report_step_progress (bridge contract 5.3).
func (t *TaskTools) reportStepProgress() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "report_step_progress", ExecutorMethod: "report_step_progress", Category: "tasks",
				Description: "Say how a step of your task's plan went.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` + queuedTask + `,"step_id":{"type":"string","minLength":1,"maxLength":100},` +
					`"status":{"type":"string","enum":["pending","in_progress","completed","failed","skipped"]},"result":{"type":["object","null"]}},"required":["queued_task_id","step_id","status"]}`),
			},
			DisplayName: "Report a step", Tags: []string{"tasks"},
		},
		Handle: func(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
			h, err := t.planOf(ctx, c, args)
			if err != nil {
				return ToolResult{}, err
			}
			if err := t.Tasks.ReportStep(ctx, c.Agent, h, args.Text("step_id"), task.StepStatus(args.Text("status")), args.Object("result")); err != nil {
				return ToolResult{}, err
			}
			return ToolJSON(map[string]any{"status": "ok"})
		},
	}
}
