package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/tool"
)

// claimNextStep is claim_next_step (bridge contract 5.3).
func (t *TaskTools) claimNextStep() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "claim_next_step", ExecutorMethod: "claim_next_step", Category: "tasks",
				Description: "Take the next step of your task's plan. Report it with report_step_progress before you take another one.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` + queuedTask + `},"required":["queued_task_id"]}`),
			},
			DisplayName: "Next step", Tags: []string{"tasks"},
		},
		Handle: t.runClaimNextStep,
	}
}

func (t *TaskTools) runClaimNextStep(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	h, err := t.planOf(ctx, c, args)
	if err != nil {
		return ToolResult{}, err
	}
	got, err := t.Tasks.ClaimStep(ctx, c.Agent, h)
	if err != nil {
		return ToolResult{}, err
	}
	if got.Step == nil {
		return ToolJSON(map[string]any{"status": "done", "summary": got.Summary, "plan": toolPlan(got.Plan)})
	}
	return ToolJSON(map[string]any{"status": "step", "step": map[string]any{"id": got.Step.Key, "title": got.Step.Title, "prompt": got.Step.Prompt}})
}
