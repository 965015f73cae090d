package flow

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/task"
)

// errNoSuchTask is the answer to a queue row of a task that is over, or that this
// agent never had: a bridge stops reporting on it.
var errNoSuchTask = fault.New(fault.NotFound, "queue_item_not_found", "There is no such task in this agent's queue.")

// errTaken is the answer to a second delivery: the row stays with the run that
// accepted it (bridge contract 2.8).
var errTaken = fault.New(fault.Conflict, "already_accepted", "This task was accepted before and is being worked on.")

// heldTask finds the task of a queue row that the caller holds. The row is locked by
// fn's transaction: room, task, row.
func (s *Tasks) heldTask(ctx context.Context, actor access.Actor, h HeldClaim, fn func(ctx context.Context, tx *pg.Tx, t *task.Task, c task.Claim) error) error {
	if err := access.RequireAgent(actor); err != nil {
		return err
	}
	row, err := task.Row(ctx, s.DB, h.QueueID)
	if err != nil {
		return err
	}
	if row == nil || row.AgentID != actor.ID {
		return errNoSuchTask
	}
	return s.change(ctx, row.TaskID, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		c, err := task.LockRowTx(ctx, tx, t.ID)
		switch {
		case err != nil:
			return err
		case c == nil || c.ID != h.QueueID || t.Status.Ended():
			return errNoSuchTask
		case !c.Held() || !h.owns(c.ExecutorID, c.Generation):
			return task.ErrLost
		}
		return fn(ctx, tx, t, *c)
	})
}

// Accept begins a run. It refuses a second delivery: 409 already_accepted; a bridge of
// ours that asks again in the same claim is told yes again. What is not held any
// more is task.ErrLost, what is over 404.
func (s *Tasks) Accept(ctx context.Context, actor access.Actor, h HeldClaim) error {
	err := s.heldTask(ctx, actor, h, func(ctx context.Context, tx *pg.Tx, t *task.Task, c task.Claim) error {
		if c.AcceptedAt != nil {
			if h.Generation != nil {
				return nil
			}
			return errTaken
		}
		if t.Status != task.Pending {
			return errNoSuchTask
		}
		if err := task.AcceptTx(ctx, tx, c.ID); err != nil {
			return err
		}
		if err := s.queue.ExtendTx(ctx, tx, c); err != nil {
			return err
		}
		if err := task.ReopenStepsTx(ctx, tx, t.ID); err != nil { // their run is gone
			return err
		}
		return task.MoveTx(ctx, tx, t, task.Accept, task.Change{Actor: actor.ID, Executor: c.ExecutorID, WakeNote: t.WakeNote})
	})
	if err == nil {
		s.Gateway.tell.wake(actor.ID)
	}
	return err
}

// Progress is a live step of a run.
type Progress struct {
	Step      string
	Phase     string
	ElapsedMS int64
}

// Report is a sign of life of a run and tells people what it does. The first one
// begins the work; a run that was not accepted is refused, as is one that is over. One
// whose agent has used up its day waits from then on, and is task.ErrLost.
func (s *Tasks) Report(ctx context.Context, actor access.Actor, h HeldClaim, p Progress) error {
	if err := access.RequireAgent(actor); err != nil {
		return err
	}
	p.Step, p.Phase = cutText(p.Step, 300), cutText(p.Phase, 40)
	row, err := task.Row(ctx, s.DB, h.QueueID)
	if err != nil {
		return err
	}
	switch {
	case row == nil || row.AgentID != actor.ID:
		return errNoSuchTask
	case !row.Held() || !h.owns(row.ExecutorID, row.Generation):
		return task.ErrLost
	}
	t, err := task.Get(ctx, s.DB, row.TaskID)
	if err != nil {
		return err
	}
	if err := s.withinBudget(ctx, actor, h); err != nil {
		return err
	}
	sign, fresh := s.steps.next(h.QueueID, p.Step)
	if sign || fresh || t.Status == task.Accepted {
		err := s.heldTask(ctx, actor, h, func(ctx context.Context, tx *pg.Tx, t *task.Task, c task.Claim) error {
			if err := s.queue.ExtendTx(ctx, tx, c); err != nil {
				return err
			}
			if fresh {
				if err := task.NoteTx(ctx, tx, task.Note{TaskID: t.ID, Version: t.Version, Kind: "step", Actor: actor.ID, Text: p.Step}); err != nil {
					return err
				}
			}
			if t.Status != task.Accepted {
				return nil
			}
			return task.MoveTx(ctx, tx, t, task.Start, task.Change{Actor: actor.ID, WakeNote: t.WakeNote})
		})
		if err != nil {
			s.steps.drop(h.QueueID)
			return err
		}
	}
	s.tellProgress(ctx, t, p)
	return nil
}

// ReportByTask is Report for callers that know the task and not the row: the tool of
// a model (bridge contract 5.3 names the trap).
func (s *Tasks) ReportByTask(ctx context.Context, actor access.Actor, tid id.Task, p Progress) error {
	row, err := task.RowOf(ctx, s.DB, tid)
	if err != nil {
		return err
	}
	if row == nil || row.AgentID != actor.ID || !row.Held() {
		return errNoSuchTask
	}
	return s.Report(ctx, actor, HeldClaim{QueueID: row.ID, ExecutorID: row.ExecutorID}, p)
}

// StepClaim is the answer of claim-step: a step, or nil when the plan is done.
type StepClaim struct {
	Step    *task.Step
	Summary string
	Plan    []task.Step
}

// ClaimStep picks the next step of the plan. A step is given once in a run; a bridge of
// ours, which runs one after the other, gets the one that it has not reported again. No
// step is begun without tokens, as in Report.
func (s *Tasks) ClaimStep(ctx context.Context, actor access.Actor, h HeldClaim) (out StepClaim, err error) {
	if err := s.withinBudget(ctx, actor, h); err != nil {
		return out, err
	}
	err = s.heldTask(ctx, actor, h, func(ctx context.Context, tx *pg.Tx, t *task.Task, c task.Claim) error {
		out = StepClaim{}
		if err := s.queue.ExtendTx(ctx, tx, c); err != nil {
			return err
		}
		steps, err := task.Steps(ctx, tx, t.ID)
		if err != nil {
			return err
		}
		next, skip := task.NextStep(steps, h.Generation != nil)
		for _, k := range skip {
			if err := task.SetStepTx(ctx, tx, t.ID, k, task.StepSkipped, nil); err != nil {
				return err
			}
		}
		if next != nil && next.Status == task.StepPending {
			if err := task.SetStepTx(ctx, tx, t.ID, next.Key, task.StepInProgress, nil); err != nil {
				return err
			}
			if err := task.NoteTx(ctx, tx, task.Note{TaskID: t.ID, Version: t.Version, Kind: "step", Actor: actor.ID, Text: cutText(next.Title, 300)}); err != nil {
				return err
			}
		}
		if next == nil && task.StepsRun(steps) {
			return fault.New(fault.Conflict, "step_in_progress", "A step is being worked on: report it first.")
		}
		out.Step = next
		if out.Plan, err = task.Steps(ctx, tx, t.ID); err != nil {
			return err
		}
		out.Summary = planSummary(out.Plan)
		if t.Status != task.Accepted {
			return nil
		}
		return task.MoveTx(ctx, tx, t, task.Start, task.Change{Actor: actor.ID, WakeNote: t.WakeNote})
	})
	return out, err
}

func planSummary(steps []task.Step) string {
	n := map[task.StepStatus]int{}
	for _, s := range steps {
		n[s.Status]++
	}
	text := fmt.Sprintf("%d of %d steps are done", n[task.StepCompleted], len(steps))
	if n[task.StepFailed] > 0 {
		text += fmt.Sprintf(", %d failed", n[task.StepFailed])
	}
	if n[task.StepSkipped] > 0 {
		text += fmt.Sprintf(", %d were skipped", n[task.StepSkipped])
	}
	return text + "."
}

var errStep = fault.New(fault.Invalid, "invalid", "This report does not fit the plan.")

// ReportStep stores how a step went.
func (s *Tasks) ReportStep(ctx context.Context, actor access.Actor, h HeldClaim, key string, status task.StepStatus, result json.RawMessage) error {
	switch status {
	case task.StepCompleted, task.StepFailed, task.StepInProgress, task.StepSkipped, task.StepPending:
	default:
		return errStep.With("status", "unknown", "must be completed, failed, in_progress, skipped or pending")
	}
	if len(result) > task.MaxResult {
		return errStep.With("result", "too_large", "at most 128 KiB")
	}
	if _, err := object(result); err != nil {
		return errStep.With("result", "object", "must be a JSON object")
	}
	return s.heldTask(ctx, actor, h, func(ctx context.Context, tx *pg.Tx, t *task.Task, c task.Claim) error {
		steps, err := task.Steps(ctx, tx, t.ID)
		if err != nil {
			return err
		}
		for _, st := range steps {
			if st.Key == key {
				if err := s.queue.ExtendTx(ctx, tx, c); err != nil {
					return err
				}
				return task.SetStepTx(ctx, tx, t.ID, key, status, result)
			}
		}
		return errStep.With("step_id", "unknown", "there is no such step")
	})
}

// ExtendPlan adds steps to the plan of a running task.
func (s *Tasks) ExtendPlan(ctx context.Context, actor access.Actor, h HeldClaim, add []task.Step) (plan []task.Step, err error) {
	err = s.heldTask(ctx, actor, h, func(ctx context.Context, tx *pg.Tx, t *task.Task, _ task.Claim) error {
		have, err := task.Steps(ctx, tx, t.ID)
		if err != nil {
			return err
		}
		if err := task.CheckPlan(have, add); err != nil {
			return err
		}
		if err := task.AddStepsTx(ctx, tx, t.ID, add); err != nil {
			return err
		}
		plan, err = task.Steps(ctx, tx, t.ID)
		return err
	})
	return plan, err
}

// GiveBack returns a task without an attempt: a bridge of ours drains.
func (s *Tasks) GiveBack(ctx context.Context, actor access.Actor, h HeldClaim) error {
	return s.heldTask(ctx, actor, h, func(ctx context.Context, tx *pg.Tx, t *task.Task, c task.Claim) error {
		return s.giveBackTx(ctx, tx, t, c, task.Change{Actor: actor.ID, Note: "released", WakeNote: t.WakeNote}, "")
	})
}

// giveBackTx returns a task without an attempt; stop says to its executor why the run is
// to stop.
func (s *Tasks) giveBackTx(ctx context.Context, tx *pg.Tx, t *task.Task, c task.Claim, change task.Change, stop string) error {
	if err := task.ReopenTx(ctx, tx, c.ID, true, c.Reason, id.Executor{}); err != nil {
		return err
	}
	tx.AfterCommit(func() {
		s.steps.drop(c.ID)
		s.Gateway.reg.forget(c.ExecutorID, c.ID)
		if stop != "" {
			s.Gateway.reg.command(c.ExecutorID, stopTask(t.ID, stop))
		}
		s.Gateway.Wake(c.AgentID)
		s.Gateway.tell.wake(c.AgentID)
	})
	return s.backToPendingTx(ctx, tx, t, change)
}

// withinBudget parks a run whose agent has used up its day: its task waits in the queue
// until its owner lets the agent go on, or tomorrow. The caller is told that it holds
// the task no more.
func (s *Tasks) withinBudget(ctx context.Context, actor access.Actor, h HeldClaim) error {
	if over, err := s.Gateway.spent(ctx, actor.ID); err != nil || !over {
		return err
	}
	parked := false
	err := s.heldTask(ctx, actor, h, func(ctx context.Context, tx *pg.Tx, t *task.Task, c task.Claim) error {
		if parked = t.Status == task.Accepted || t.Status == task.InProgress; !parked {
			return nil
		}
		return s.giveBackTx(ctx, tx, t, c, task.Change{Note: "no tokens left today", WakeNote: t.WakeNote}, "budget")
	})
	if err == nil && parked {
		err = task.ErrLost
	}
	return err
}
