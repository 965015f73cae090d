package flow

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/tool"
)

// createTask is create_task (bridge contract 5.3). A task made while the agent works at
// one is a sub-task of it.
func (t *TaskTools) createTask() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "create_task", ExecutorMethod: "create_task", Category: "tasks",
				Description: "Ask for a piece of work that takes longer than an answer. Without assigned_to it is yours and runs beside this conversation; " +
					"with ids of members it is theirs. While you work at a task, the new one is a part of it: finish your turn, and you are woken with the results.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"conversation_id":{"type":"string","description":"Where it is asked for; \"current\" is this conversation."},` +
					`"title":{"type":"string","minLength":1,"maxLength":200,"description":"What is to be done, in one line."},` +
					`"description":{"type":"string","maxLength":30000,"description":"Everything that is needed to do it: goal, material, what a good result is."},` +
					`"assigned_to":{"type":"array","items":{"type":"string"},"maxItems":20,"description":"Participant ids. Several get one part each."},` +
					`"metadata":{"type":"object","description":"execution_plan {steps: [{id, title, prompt, depends_on}]} makes it a plan of steps."},` +
					`"active_conversation_id":{"type":"string"}},"required":["title"]}`),
			},
			DisplayName: "Create a task", Tags: []string{"tasks"}, Limits: tool.Limits{PerMinute: 30},
		},
		Handle: t.runCreateTask,
	}
}

func (t *TaskTools) runCreateTask(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	room := c.Room
	if args.Has("conversation_id") {
		var err error
		if room, err = args.RoomArg("conversation_id"); err != nil {
			return ToolResult{}, err
		}
	}
	if err := c.both(ctx, t.Tasks.DB, room, access.PostInRoom); err != nil {
		return ToolResult{}, err
	}
	n := NewTask{
		ConversationID: room, Title: args.Text("title"), Description: args.Text("description"), Metadata: args.Object("metadata"), SourceMessage: c.SourceMessage, Parent: c.Task,
	}
	if c.Person.IsPerson() && n.Parent.IsZero() {
		n.Requester = c.Person.ID
	}
	for _, s := range args.Texts("assigned_to") {
		p, err := id.Parse[id.Participant](s)
		if err != nil {
			return ToolResult{}, fault.Newf(fault.Invalid, "invalid_assignees_not_uuid", "assigned_to holds %q, which is no participant id.", cutText(s, 60))
		}
		n.AssignedTo = append(n.AssignedTo, p)
	}
	v, err := t.Tasks.Create(ctx, c.Agent, n)
	if twin, ok := errors.AsType[*DuplicateTaskError](err); ok {
		return ToolJSON(map[string]any{"status": "duplicate_detected", "task": toolTask(twin.Task)})
	}
	if err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(map[string]any{"status": "created", "task": toolTask(v)})
}
