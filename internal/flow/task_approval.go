package flow

import (
	"context"
	"fmt"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/ask"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/view"
)

// A run of ours that stops at a request for approval leaves the queue of tasks. From
// then on its task follows three things that are stored: the open request (it waits,
// on a question that stands for it), the decision in the queue of approvals (it is to
// be run), and the claim of that row (it is run). followRunTx reads them and moves
// the task; whoever changes one of them calls it, and the sweep does for those who died.

// followRun brings one task in line, in a transaction of its own.
func (s *Tasks) followRun(ctx context.Context, tid id.Task) {
	s.complain(ctx, "follow run failed", goneIsNil(s.change(ctx, tid, s.followRunTx)), tid)
}

// followRunLater is for a transaction that must not lock a task: it holds what is
// locked after tasks.
func (s *Tasks) followRunLater(tx *pg.Tx, tid id.Task) {
	if s == nil || tid.IsZero() {
		return
	}
	tx.AfterCommit(func() { s.later(func(ctx context.Context) { s.followRun(ctx, tid) }) })
}

// followRunTx moves a locked task to where its run is. It does nothing for a task that
// has ended, that the queue of tasks has, or whose run never stopped at a request.
func (s *Tasks) followRunTx(ctx context.Context, tx *pg.Tx, t *task.Task) error {
	if t.Status.Ended() {
		return nil
	}
	list, err := ask.OfTask(ctx, tx, t.ID)
	if err != nil || len(list) == 0 || list[len(list)-1].ApprovalID.IsZero() {
		return err
	}
	return s.alignTx(ctx, tx, t, &list[len(list)-1])
}

// stopAtCallTx is for a run that has ended at a request: it is parked on it. One that
// was decided meanwhile is to be run.
func (s *Tasks) stopAtCallTx(ctx context.Context, tx *pg.Tx, t *task.Task, attempt int) error {
	if _, err := s.withdrawTx(ctx, tx, *t, ""); err != nil {
		return err
	}
	t.Attempt = max(attempt-1, 0) // a run that waits has not failed
	return s.alignTx(ctx, tx, t, nil)
}

// alignTx: last is the question at which the run stopped before; nil when it stops now.
func (s *Tasks) alignTx(ctx context.Context, tx *pg.Tx, t *task.Task, last *ask.Ask) error {
	if row, err := task.LockRowTx(ctx, tx, t.ID); err != nil || row != nil {
		return err
	}
	var by id.Participant
	if last != nil {
		by = last.AnsweredBy
	}
	run, err := approval.RunOfTask(ctx, tx, t.ID)
	switch {
	case err != nil:
		return err
	case run.Queued:
		return s.runningTx(ctx, tx, t, by, run.Held)
	case last != nil && last.Status == ask.Open:
		return nil
	}
	open, err := approval.OpenOfTaskTx(ctx, tx, t.ID)
	switch {
	case err != nil:
		return err
	case len(open) > 0:
		return s.parkOnTx(ctx, tx, t, open[0])
	case t.Status.Parked() && t.JoinMode != nil && t.JoinFiredAt == nil:
		return nil // its barrier wakes it
	case last != nil && last.Status == ask.Withdrawn:
		return s.withdrawnTx(ctx, tx, t, *last)
	}
	// Nothing of the run is left: nobody is told what was decided, and no result came.
	note := "Your last run stopped at a call that needed an approval, and could not be continued. Nothing that waited for the approval has run. " +
		"Look at what it left in the room before you start again.\n"
	if t.WakeNote != nil {
		note = *t.WakeNote + "\n" + note
	}
	c := task.Change{Actor: by, Note: "the run could not be continued", WakeNote: &note}
	switch {
	case t.Status.Parked():
		err = task.MoveTx(ctx, tx, t, task.Wake, c)
	case t.Status != task.Pending:
		err = task.MoveTx(ctx, tx, t, task.Requeue, c)
	}
	if err != nil {
		return err
	}
	return s.offerTx(ctx, tx, *t, task.ReasonRetry, id.Executor{})
}

// continued moves the task of a decision that goes to its bridge now; over: it has ended.
func (s *Tasks) continued(ctx context.Context, tid id.Task) (over bool, err error) {
	err = s.change(ctx, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		over = t.Status.Ended()
		return s.followRunTx(ctx, tx, t)
	})
	if fault.KindOf(err) == fault.NotFound && err != nil {
		return true, nil //nolint:nilerr // it was deleted with its room
	}
	return over, err
}

// runningTx: the decision is in the queue of approvals; held, its bridge has it.
func (s *Tasks) runningTx(ctx context.Context, tx *pg.Tx, t *task.Task, by id.Participant, held bool) error {
	c := task.Change{Actor: by, WakeNote: t.WakeNote, Note: "decided"}
	if t.Status.Parked() {
		if err := task.MoveTx(ctx, tx, t, task.Wake, c); err != nil {
			return err
		}
	}
	switch {
	case held && t.Status != task.InProgress:
		c.Note = "continued"
		return task.MoveTx(ctx, tx, t, task.Start, c)
	case !held && t.Status != task.Pending:
		c.Note = "released"
		return task.MoveTx(ctx, tx, t, task.Requeue, c)
	}
	return nil
}

// parkOnTx parks a task on an open request: the question says only which tool it is
// about, for not everybody who sees the task may see the call.
func (s *Tasks) parkOnTx(ctx context.Context, tx *pg.Tx, t *task.Task, a approval.Approval) error {
	event := task.Park
	switch {
	case t.Status.Parked(): // its decision was never seen to be taken up
		event = task.ParkAgain
	case t.Status == task.Pending:
		if err := task.MoveTx(ctx, tx, t, task.Start, task.Change{Actor: a.AgentID, WakeNote: t.WakeNote}); err != nil {
			return err
		}
	}
	if err := task.MoveTx(ctx, tx, t, event, task.Change{Actor: a.AgentID, To: task.Waiting, Note: "awaiting_approval", WakeNote: t.WakeNote}); err != nil {
		return err
	}
	q := ask.Ask{
		ID: id.New[id.Ask](), TaskID: t.ID, AgentID: a.AgentID, ConversationID: t.WorkConversationID, Asked: a.Approvers,
		Question: fmt.Sprintf("May I use %s?", a.ToolName), ExpiresAt: a.ExpiresAt, ApprovalID: a.ID,
	}
	if err := ask.InsertTx(ctx, tx, q); err != nil {
		return err
	}
	return task.NoteTx(ctx, tx, task.Note{TaskID: t.ID, Version: t.Version, Kind: "asked", Actor: a.AgentID, Text: q.Question})
}

// stoppedLater is followRunLater for a run that a person stopped in its room.
func (s *Tasks) stoppedLater(tx *pg.Tx, tid id.Task) {
	if s == nil || tid.IsZero() {
		return
	}
	stopped := func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		list, err := ask.OfTask(ctx, tx, t.ID)
		if err != nil || t.Status.Ended() || len(list) == 0 || list[len(list)-1].ApprovalID.IsZero() {
			return err
		}
		if row, err := task.LockRowTx(ctx, tx, t.ID); err != nil || row != nil {
			return err
		}
		last := list[len(list)-1]
		if last.Status == ask.Open {
			return nil
		}
		return s.withdrawnTx(ctx, tx, t, last)
	}
	tx.AfterCommit(func() {
		s.later(func(ctx context.Context) {
			s.complain(ctx, "stop task failed", goneIsNil(s.change(ctx, tid, stopped)), tid)
		})
	})
}

// withdrawnTx: the request at which a task waited was taken back, because somebody
// stopped the agent there. Who asked for the task says how it goes on.
func (s *Tasks) withdrawnTx(ctx context.Context, tx *pg.Tx, t *task.Task, last ask.Ask) error {
	if !t.Status.Parked() {
		if t.Status == task.Pending {
			if err := task.MoveTx(ctx, tx, t, task.Start, task.Change{Actor: last.AgentID}); err != nil {
				return err
			}
		}
		if err := task.MoveTx(ctx, tx, t, task.Park, task.Change{Actor: last.AgentID, To: task.Waiting, Note: "stopped"}); err != nil {
			return err
		}
	}
	people, err := view.TaskPeople(ctx, tx, []id.Participant{last.AgentID})
	if err != nil {
		return err
	}
	agent := people[last.AgentID]
	who := access.Actor{Kind: access.Agent, ID: agent.ID, OwnerID: agent.OwnerID, DisplayName: agent.DisplayName}
	return s.askTx(ctx, tx, t, who, ask.Ask{Question: "I was stopped while I waited for an approval. How should I go on?"})
}

// dropApprovalsTx ends what the run of a task still asks and waits to hear, because
// the task ends or goes on without it; a bridge that continues the run is told to stop.
func (s *Tasks) dropApprovalsTx(ctx context.Context, tx *pg.Tx, t id.Task, stop string) error {
	if s.Approvals == nil {
		return nil
	}
	open, err := approval.OpenOfTaskTx(ctx, tx, t)
	if err != nil {
		return err
	}
	for _, a := range open {
		if err := s.Approvals.endTx(ctx, tx, a, orExpire(a, approval.Cancel)); err != nil {
			return err
		}
	}
	if stop == "" {
		return nil // the run itself ends the task, and acknowledges its decision
	}
	rows, err := s.Approvals.work.queue.StopTaskTx(ctx, tx, t)
	if err != nil {
		return err
	}
	for _, r := range rows {
		s.Approvals.work.overAfter(tx, r)
		if r.LeaseUntil != nil {
			tx.AfterCommit(func() { s.Gateway.reg.command(r.ExecutorID, stopTask(t, stop)) })
		}
	}
	return nil
}
