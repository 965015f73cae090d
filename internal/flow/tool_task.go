package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/task"
)

// TaskTools are the tools by which agents ask for tasks and report on their own.
// Each method that gives a Tool stands in the file of that tool.
type TaskTools struct{ Tasks *Tasks }

// List is all of them, in the order of the catalogue.
func (t *TaskTools) List() []Tool {
	return []Tool{
		t.createTask(), t.completeTask(), t.failTask(), t.updateTaskStatus(), t.updateTask(), t.reportProgress(), t.askPerson(), t.waitForSubtasks(), t.getTask(),
		t.acceptTask(), t.claimNextStep(), t.reportStepProgress(), t.extendTaskPlan(),
	}
}

// TaskArg reads the task that a call is about; placeholders have been filled in before.
func (a ToolArgs) TaskArg(key string) (id.Task, error) {
	t, err := id.Parse[id.Task](a.Text(key))
	if err != nil {
		return t, fault.New(fault.Invalid, "missing_task_id", "Name the task: "+key+" is not a known id.")
	}
	return t, nil
}

// taskFor is the task of a call, on behalf of the person for whom the agent works at it:
// both have to do with it.
func (t *TaskTools) taskFor(ctx context.Context, c ToolCaller, args ToolArgs) (id.Task, error) {
	tid, err := args.TaskArg("task_id")
	if err != nil {
		return tid, err
	}
	if tid == c.Task {
		return tid, nil
	}
	one, err := task.Get(ctx, t.Tasks.DB, tid)
	if err != nil {
		return tid, err
	}
	if !one.Assigned(c.Agent.ID) && one.CreatedBy != c.Agent.ID {
		return tid, task.ErrNotFound
	}
	return tid, nil
}

// toolTask is a task as a model reads it.
func toolTask(v TaskView) map[string]any {
	out := map[string]any{"id": v.ID, "title": v.Title, "status": v.Status, "assigned_to": v.AssignedTo, "conversation_id": v.ConversationID}
	if v.HasWorkRoom() {
		out["work_conversation_id"] = v.WorkConversationID
	}
	if v.Response != nil {
		out["response"] = cutText(*v.Response, 6000)
	}
	if v.Summary != nil {
		out["summary"] = *v.Summary
	}
	if v.FailureMessage != nil {
		out["failure"] = *v.FailureMessage
	}
	return out
}
