package flow

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agntchat/agntchat/internal/ask"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/tool"
)

// askPerson is ours: one question of a task's run to people. The run is parked, and
// the answer wakes it (field.md 26).
func (t *TaskTools) askPerson() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "ask_person", Category: "tasks",
				Description: "Ask the person for whom you work at a task one question that you cannot decide yourself, then end your turn: " +
					"you are woken with the answer. Give two to four options when you can, and a default when you could go on without an answer.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"task_id":{"type":"string","description":"\"current\" is the task of this run."},` +
					`"question":{"type":"string","minLength":1,"maxLength":5000},` +
					`"options":{"type":"array","items":{"type":"string","minLength":1,"maxLength":200},"minItems":2,"maxItems":4},` +
					`"field":{"type":"string","maxLength":100,"description":"The name of what is to be filled in, when there are no options."},` +
					`"default":{"type":"string","maxLength":2000,"description":"What you go on with when nobody answers."},` +
					`"expires_in_minutes":{"type":"integer","minimum":1,"maximum":86400,"description":"How long you wait; 7 days when absent."},` +
					`"ask":{"type":"array","items":{"type":"string"},"maxItems":10,"description":"Ids of people in this room; when absent, who asked for the task."}},` +
					`"required":["task_id","question"]}`),
			},
			DisplayName: "Ask a person", Tags: []string{"tasks"}, Limits: tool.Limits{PerMinute: 20},
		},
		Handle: t.runAskPerson,
	}
}

func (t *TaskTools) runAskPerson(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	tid, err := args.TaskArg("task_id")
	if err != nil {
		return ToolResult{}, err
	}
	q := ask.Ask{Question: args.Text("question"), Options: args.Texts("options")}
	if args.Has("field") {
		q.Field = new(args.Text("field"))
	}
	if args.Has("default") {
		q.DefaultValue = new(args.Text("default"))
	}
	if args.Has("expires_in_minutes") {
		q.ExpiresAt = time.Now().Add(time.Duration(args.Int("expires_in_minutes", 0)) * time.Minute)
	}
	for _, s := range args.Texts("ask") {
		p, err := id.Parse[id.Participant](s)
		if err != nil {
			return ToolResult{}, fault.Newf(fault.Invalid, "invalid_arguments", "ask holds %q, which is no participant id.", cutText(s, 60))
		}
		q.Asked = append(q.Asked, p)
	}
	if err := t.Tasks.Ask(ctx, c.Agent, tid, q); err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(map[string]any{"status": "asked", "note": "Your question is shown. End your turn now with end_turn and the reason awaiting_input; you are woken with the answer."})
}
