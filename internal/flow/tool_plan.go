package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/task"
)

// ClaimOf is the claim under which the calling agent works at a task, by the id of its
// queue row or of the task itself: a model, and a bridge's process for tools, know
// only the latter and no executor (bridge contract 5.3). What the agent does not work at
// is not found.
func (s *Tasks) ClaimOf(ctx context.Context, actor access.Actor, ref string) (HeldClaim, error) {
	h, _, err := s.claimOf(ctx, actor, ref)
	return h, err
}

func (s *Tasks) claimOf(ctx context.Context, actor access.Actor, ref string) (HeldClaim, id.Task, error) {
	if err := access.RequireAgent(actor); err != nil {
		return HeldClaim{}, id.Task{}, err
	}
	if placeholderTask(ref) {
		return s.onlyClaim(ctx, actor)
	}
	tid, err := id.Parse[id.Task](ref)
	if err != nil {
		return HeldClaim{}, tid, errNoSuchTask
	}
	row, err := task.RowOf(ctx, s.DB, tid)
	if err == nil && row == nil {
		row, err = task.Row(ctx, s.DB, id.From[id.QueueItem](tid.UUID()))
	}
	if err != nil {
		return HeldClaim{}, tid, err
	}
	if row == nil || row.AgentID != actor.ID || !row.Held() {
		return HeldClaim{}, tid, errNoSuchTask
	}
	return HeldClaim{QueueID: row.ID, ExecutorID: row.ExecutorID}, row.TaskID, nil
}

// onlyClaim is the one run of an agent, when it has one: what "current" means to a model
// whose bridge does not fill ids in (bridge contract 5.2).
func (s *Tasks) onlyClaim(ctx context.Context, actor access.Actor) (HeldClaim, id.Task, error) {
	rows, err := task.Running(ctx, s.DB, actor.ID)
	switch {
	case err != nil:
		return HeldClaim{}, id.Task{}, err
	case len(rows) == 0:
		return HeldClaim{}, id.Task{}, errNoSuchTask
	case len(rows) > 1:
		return HeldClaim{}, id.Task{}, fault.New(fault.Invalid, "missing_task_id", "You work at several tasks: name the one that you mean by its id.")
	}
	return HeldClaim{QueueID: rows[0].ID, ExecutorID: rows[0].ExecutorID}, rows[0].TaskID, nil
}

// queuedTask is the argument by which stock bridges name the task of a plan.
const queuedTask = `"queued_task_id":{"type":"string","description":"Id of the task that you work at; \"current\" is the one of this run."}`

// planOf is the claim of a call. A task beyond the run's own must be one that the person
// has to do with.
func (t *TaskTools) planOf(ctx context.Context, c ToolCaller, args ToolArgs) (HeldClaim, error) {
	h, tid, err := t.Tasks.claimOf(ctx, c.Agent, args.Text("queued_task_id"))
	if err != nil || tid == c.Task {
		return h, err
	}
	_, err = t.Tasks.may(ctx, t.Tasks.DB, c.Person, tid, access.ReadTask)
	return h, err
}

// toolPlan is a plan as a model reads it.
func toolPlan(steps []task.Step) []map[string]any {
	out := make([]map[string]any, len(steps))
	for n, s := range steps {
		out[n] = map[string]any{"id": s.Key, "title": s.Title, "status": s.Status, "depends_on": s.DependsOn}
		if !isNull(s.Result) {
			out[n]["result"] = s.Result
		}
	}
	return out
}
