package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/tool"
)

// completeTask is complete_task (bridge contract 2.8.1): the state and the response in
// one transaction. A refusal that begins with [open_subtasks] leaves the task open; a
// second end is already_ended.
func (t *TaskTools) completeTask() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "complete_task", ExecutorMethod: "complete_task", Category: "tasks", AlwaysLoad: true,
				Description: "Finish the task that you work at. response is what people read: the whole result, in Markdown. Nothing may follow it.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"task_id":{"type":"string","description":"\"current\" is the task of this run."},` +
					`"response":{"type":"string","description":"The result, as people are to read it."},` +
					`"summary":{"type":"string","description":"One or two sentences for lists."},` +
					`"silent":{"type":"boolean","description":"true: nothing is posted."},` +
					`"result_data":{"type":["object","null"],"description":"Data for programs."},` +
					`"conversation_id":{"type":"string"},"active_conversation_id":{"type":"string"}},"required":["task_id"]}`),
			},
			DisplayName: "Complete a task", Tags: []string{"tasks"}, Essential: true, Limits: tool.Limits{PerMinute: 120},
		},
		Handle: t.runCompleteTask,
	}
}

func (t *TaskTools) runCompleteTask(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	tid, err := args.TaskArg("task_id")
	if err != nil {
		return ToolResult{}, err
	}
	r := TaskResult{Response: args.Text("response"), Summary: args.Text("summary"), Silent: args.Bool("silent"), ResultData: args.Object("result_data")}
	if err := t.Tasks.Finish(ctx, c.Agent, tid, r); err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(map[string]any{"status": "complete", "task_id": tid})
}
