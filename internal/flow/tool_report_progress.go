package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/tool"
)

// reportProgress is report_progress (bridge contract 5.3), by the id of the task: a
// model does not know the queue row.
func (t *TaskTools) reportProgress() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "report_progress", ExecutorMethod: "report_progress", Category: "tasks",
				Description: "Show people what you do now in the task that you work at.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"task_id":{"type":"string","description":"\"current\" is the task of this run."},` +
					`"progress":{"type":"object","properties":{"current_step":{"type":"string","maxLength":300}},"required":["current_step"]}},"required":["task_id","progress"]}`),
			},
			DisplayName: "Report progress", Tags: []string{"tasks"}, Limits: tool.Limits{PerMinute: 120},
		},
		Handle: t.runReportProgress,
	}
}

func (t *TaskTools) runReportProgress(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	tid, err := args.TaskArg("task_id")
	if err != nil {
		return ToolResult{}, err
	}
	p := args.Object("progress")
	if err := t.Tasks.ReportByTask(ctx, c.Agent, tid, Progress{Step: stringKey(p, "current_step"), Phase: "tool_call"}); err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(map[string]any{"status": "ok"})
}
