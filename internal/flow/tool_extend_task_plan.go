package flow

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agntchat/agntchat/internal/tool"
)

// extendTaskPlan is extend_task_plan (bridge contract 5.3).
func (t *TaskTools) extendTaskPlan() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "extend_task_plan", ExecutorMethod: "extend_task_plan", Category: "tasks",
				Description: "Add steps to the plan of the task that you work at.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` + queuedTask + `,"new_steps":{"type":"array","minItems":1,"maxItems":50,"items":{"type":"object","properties":{` +
					`"id":{"type":"string","minLength":1,"maxLength":100},"title":{"type":"string","maxLength":500},"prompt":{"type":"string","maxLength":30000,"description":"What to do in it."},` +
					`"depends_on":{"type":"array","items":{"type":"string"}}},"required":["id","title"]}}},"required":["queued_task_id","new_steps"]}`),
			},
			DisplayName: "Extend the plan", Tags: []string{"tasks"}, Limits: tool.Limits{PerMinute: 20},
		},
		Handle: t.runExtendTaskPlan,
	}
}

func (t *TaskTools) runExtendTaskPlan(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	h, err := t.planOf(ctx, c, args)
	if err != nil {
		return ToolResult{}, err
	}
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(args.Object("new_steps"), &list); err != nil {
		return ToolResult{}, fmt.Errorf("decode steps: %w", err)
	}
	steps, err := StepsOf(list)
	if err != nil {
		return ToolResult{}, err
	}
	plan, err := t.Tasks.ExtendPlan(ctx, c.Agent, h, steps)
	if err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(map[string]any{"plan": toolPlan(plan)})
}
