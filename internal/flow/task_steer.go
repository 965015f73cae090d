package flow

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/ask"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/view"
)

// errTerminal is the answer to an agent that sets an end by REST: state and response
// belong together (bridge contract 3.7).
var errTerminal = fault.New(fault.Invalid, "terminal_via_complete_task", "An agent ends a task with complete_task or fail_task, which post the result too.")

// steer runs a change that who asked for the task may make.
func (s *Tasks) steer(ctx context.Context, actor access.Actor, tid id.Task, fn func(ctx context.Context, tx *pg.Tx, t *task.Task) error) (TaskView, error) {
	if _, err := s.may(ctx, s.DB, actor, tid, access.SteerTask); err != nil {
		return TaskView{}, err
	}
	if err := s.change(ctx, tid, fn); err != nil {
		return TaskView{}, err
	}
	return s.view(ctx, tid)
}

// SetStatus is PATCH …/status. An agent that does the task sets interim states only; a
// parked one waits for an answer to its summary. People cancel, and move and end
// what they do themselves.
func (s *Tasks) SetStatus(ctx context.Context, actor access.Actor, tid id.Task, to task.Status, r TaskResult) (TaskView, error) {
	if !slices.Contains(task.Statuses, to) {
		return TaskView{}, errTask.With("status", "unknown", "this is no state of a task")
	}
	if actor.IsAgent() && to.Ended() {
		if _, err := s.may(ctx, s.DB, actor, tid, access.ReadTask); err != nil {
			return TaskView{}, err
		}
		return TaskView{}, errTerminal
	}
	if to == task.Cancelled {
		return s.Cancel(ctx, actor, tid, r.Summary)
	}
	if err := r.check(); err != nil {
		return TaskView{}, err
	}
	t, err := s.may(ctx, s.DB, actor, tid, access.WorkTask)
	if err != nil {
		return TaskView{}, err
	}
	switch to {
	case task.Rejected:
		return s.Reject(ctx, actor, tid, r.Summary)
	case task.Complete:
		err = s.Finish(ctx, actor, tid, r)
	case task.Failed:
		err = s.Fail(ctx, actor, tid, r.Summary, r.Summary, r.Silent)
	default:
		err = s.change(ctx, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
			return s.moveTx(ctx, tx, t, actor, to, r)
		})
	}
	if err != nil {
		return TaskView{}, err
	}
	return s.view(ctx, t.ID)
}

func (s *Tasks) moveTx(ctx context.Context, tx *pg.Tx, t *task.Task, actor access.Actor, to task.Status, r TaskResult) error {
	switch {
	case t.Status.Ended():
		return task.ErrEnded
	case t.Status == to:
		return nil
	case to == task.Blocked || to == task.Waiting:
		if actor.IsAgent() {
			return s.parkTx(ctx, tx, t, actor, to, r.Summary, nil)
		}
		e := task.Park
		if t.Status.Parked() {
			e = task.ParkAgain
		}
		return task.MoveTx(ctx, tx, t, e, task.Change{Actor: actor.ID, To: to, Summary: none(r.Summary)})
	case to == task.Accepted:
		return task.MoveTx(ctx, tx, t, task.Accept, task.Change{Actor: actor.ID, WakeNote: t.WakeNote})
	case to == task.InProgress && t.Status.Parked():
		if actor.IsAgent() {
			return fault.New(fault.Conflict, "waits_for_answer", "This task waits. You are woken when what it waits for has come.")
		}
		return task.MoveTx(ctx, tx, t, task.Resume, task.Change{Actor: actor.ID})
	case to == task.InProgress:
		return task.MoveTx(ctx, tx, t, task.Start, task.Change{Actor: actor.ID, WakeNote: t.WakeNote})
	default:
		return errTask.With("status", "unknown", "a task cannot be set to this")
	}
}

func none(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// AcceptByREST is POST /api/tasks/:id/accept: a person takes a task on; for an agent
// that its bridge has begun already it changes nothing.
func (s *Tasks) AcceptByREST(ctx context.Context, actor access.Actor, tid id.Task) (TaskView, error) {
	if _, err := s.may(ctx, s.DB, actor, tid, access.WorkTask); err != nil {
		return TaskView{}, err
	}
	err := s.change(ctx, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		if t.Status == task.Accepted || t.Status == task.InProgress {
			return nil
		}
		return task.MoveTx(ctx, tx, t, task.Accept, task.Change{Actor: actor.ID, WakeNote: t.WakeNote})
	})
	if err != nil {
		return TaskView{}, err
	}
	return s.view(ctx, tid)
}

// Cancel ends a task that is not wanted any more; its run is told to stop, and its
// open sub-tasks follow.
func (s *Tasks) Cancel(ctx context.Context, actor access.Actor, tid id.Task, reason string) (TaskView, error) {
	return s.steer(ctx, actor, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		return s.cancelTx(ctx, tx, t, actor.ID, cutText(strings.TrimSpace(reason), 2000))
	})
}

func (s *Tasks) cancelTx(ctx context.Context, tx *pg.Tx, t *task.Task, actor id.Participant, reason string) error {
	if t.Status.Ended() {
		return task.ErrEnded
	}
	if err := s.closeTx(ctx, tx, t, "cancelled"); err != nil {
		return err
	}
	return task.MoveTx(ctx, tx, t, task.Cancel, task.Change{Actor: actor, Note: reason})
}

// Interrupt stops the run of a task. With instructions it runs again with them at
// once; without, it waits for who interrupted it to say how to go on.
func (s *Tasks) Interrupt(ctx context.Context, actor access.Actor, tid id.Task, instructions string) (TaskView, error) {
	if err := access.RequirePerson(actor); err != nil {
		return TaskView{}, err
	}
	instructions = strings.TrimSpace(instructions)
	if utf8.RuneCountInString(instructions) > ask.MaxAnswer || !clean(instructions) {
		return TaskView{}, errTask.With("message", "too_long", fmt.Sprintf("at most %d characters", ask.MaxAnswer))
	}
	return s.steer(ctx, actor, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		agent, ok, err := s.runner(ctx, tx, *t)
		if err != nil {
			return err
		}
		if !ok || (t.Status != task.Accepted && t.Status != task.InProgress) {
			return fault.New(fault.Conflict, "not_running", "No agent runs this task now.")
		}
		row, err := s.withdrawTx(ctx, tx, *t, "interrupted")
		if err != nil {
			return err
		}
		c := task.Change{Actor: actor.ID, To: task.Waiting, Note: "interrupted"}
		if row != nil {
			c.Attempt = new(max(row.Attempt-1, 0))
		}
		if err := task.MoveTx(ctx, tx, t, task.Park, c); err != nil {
			return err
		}
		if instructions != "" {
			return s.wakeTx(ctx, tx, t, task.ReasonWoken, actor.ID, fmt.Sprintf("%s interrupted your run and says: %s", actor.DisplayName, instructions))
		}
		people, err := view.TaskPeople(ctx, tx, []id.Participant{agent})
		if err != nil {
			return err
		}
		who := access.Actor{Kind: access.Agent, ID: agent, OwnerID: people[agent].OwnerID, DisplayName: people[agent].DisplayName}
		return s.askTx(ctx, tx, t, who, ask.Ask{Question: "You interrupted me. How should I go on?", Asked: []id.Participant{actor.ID}})
	})
}

// Reassign gives a task that has not ended to somebody else; its run is told to stop.
func (s *Tasks) Reassign(ctx context.Context, actor access.Actor, tid id.Task, who id.Participant) (TaskView, error) {
	if err := access.RequirePerson(actor); err != nil {
		return TaskView{}, err
	}
	return s.steer(ctx, actor, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		switch {
		case t.Status.Ended():
			return task.ErrEnded
		case t.FanOut:
			return fault.New(fault.Conflict, "has_several", "Give its sub-tasks to others instead.")
		case t.Assigned(who):
			return nil
		}
		room, err := s.Chat.lock(ctx, tx, access.System(), t.ConversationID)
		if err != nil {
			return err
		}
		to, err := s.assigneesTx(ctx, tx, actor, t.RequesterID, room, []id.Participant{who})
		if err != nil {
			return err
		}
		if err := s.closeTx(ctx, tx, t, "reassigned"); err != nil {
			return err
		}
		if err := s.Chat.seatTx(ctx, tx, t.WorkConversationID, who); err != nil {
			return err
		}
		if err := task.AssignTx(ctx, tx, t, to); err != nil {
			return err
		}
		note := "This task was given to you after somebody else had it. Look at what they left in the room."
		if err := task.MoveTx(ctx, tx, t, task.Reassign, task.Change{Actor: actor.ID, Attempt: new(0), WakeNote: &note}); err != nil {
			return err
		}
		return s.offerTx(ctx, tx, *t, task.ReasonNew, id.Executor{})
	})
}

// Edit is what may be changed of a task that has not ended. Nil leaves a field.
type Edit struct {
	Title       *string
	Description *string
	Priority    *int
	Deadline    **time.Time
}

// Change edits the words of a task: who asked for it, and the agent that does it.
func (s *Tasks) Change(ctx context.Context, actor access.Actor, tid id.Task, e Edit) (TaskView, error) {
	t, err := s.may(ctx, s.DB, actor, tid, access.ReadTask)
	if err != nil {
		return TaskView{}, err
	}
	if !t.Assigned(actor.ID) {
		if _, err := s.may(ctx, s.DB, actor, tid, access.SteerTask); err != nil {
			return TaskView{}, err
		}
	}
	err = s.change(ctx, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		if t.Status.Ended() {
			return task.ErrEnded
		}
		n := NewTask{Title: t.Title, Description: t.Description, Priority: t.Priority}
		if e.Title != nil {
			n.Title = *e.Title
		}
		if e.Description != nil {
			n.Description = *e.Description
		}
		if e.Priority != nil {
			n.Priority = *e.Priority
		}
		if err := n.check(); err != nil {
			return err
		}
		t.Title, t.Description, t.Priority = n.Title, n.Description, n.Priority
		if e.Deadline != nil {
			t.Deadline = *e.Deadline
		}
		return task.EditTx(ctx, tx, t, actor.ID)
	})
	if err != nil {
		return TaskView{}, err
	}
	return s.view(ctx, tid)
}

// Again repeats a task that has ended, with changes: a new task in the same rooms.
type Again struct {
	Title       *string
	Description *string
	AssignedTo  []id.Participant
	Feedback    string // what was wrong with the result
}

// Retry makes a new task of one that has ended.
func (s *Tasks) Retry(ctx context.Context, actor access.Actor, tid id.Task, a Again) (TaskView, error) {
	old, err := s.may(ctx, s.DB, actor, tid, access.SteerTask)
	if err != nil {
		return TaskView{}, err
	}
	if !old.Status.Ended() {
		return TaskView{}, fault.New(fault.Conflict, "not_ended", "This task has not ended. Interrupt it to change it.")
	}
	n := NewTask{
		ConversationID: old.ConversationID, Title: old.Title, Description: old.Description, AssignedTo: old.AssignedTo, Priority: old.Priority,
		Metadata: old.Metadata, SourceMessage: old.SourceMessageID, Requester: old.RequesterID, RetryOf: old.ID, WorkRoom: old.WorkConversationID, Parent: old.ParentTaskID,
	}
	if a.Title != nil {
		n.Title = *a.Title
	}
	if a.Description != nil {
		n.Description = *a.Description
	}
	if len(a.AssignedTo) > 0 {
		n.AssignedTo = a.AssignedTo
	}
	ended, err := resultLine(ctx, s.DB, id.Participant{}, old) // whoever does it now: an agent's words are fenced
	if err != nil {
		return TaskView{}, err
	}
	note := "This task was done before. It ended as follows. " + ended
	if f := strings.TrimSpace(a.Feedback); f != "" {
		if utf8.RuneCountInString(f) > ask.MaxAnswer {
			return TaskView{}, errTask.With("feedback", "too_long", fmt.Sprintf("at most %d characters", ask.MaxAnswer))
		}
		note += fmt.Sprintf("\n%s asks for a revision: %s", actor.DisplayName, f)
	}
	n.WakeNote = new(cutText(note, 12_000))
	if !old.ParentTaskID.IsZero() {
		if p, err := task.Get(ctx, s.DB, old.ParentTaskID); err != nil || p.Status.Ended() {
			n.Parent = id.Task{} // nobody waits for it any more
		}
	}
	return s.Create(ctx, actor, n)
}

// Revise is POST …/revision: one that has ended is repeated with the feedback, one
// that runs is told it, one that waits goes on with it.
func (s *Tasks) Revise(ctx context.Context, actor access.Actor, tid id.Task, feedback string) (TaskView, error) {
	if strings.TrimSpace(feedback) == "" {
		return TaskView{}, errTask.With("feedback", "required", "say what should be different")
	}
	t, err := s.may(ctx, s.DB, actor, tid, access.SteerTask)
	switch {
	case err != nil:
		return TaskView{}, err
	case t.Status.Ended():
		return s.Retry(ctx, actor, tid, Again{Feedback: feedback})
	case t.Status == task.Accepted || t.Status == task.InProgress:
		if _, ok, err := s.runner(ctx, s.DB, t); err != nil || ok {
			if err != nil {
				return TaskView{}, err
			}
			return s.Interrupt(ctx, actor, tid, feedback)
		}
	}
	return s.steer(ctx, actor, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		q, err := ask.OpenOf(ctx, tx, t.ID)
		if err != nil {
			return err
		}
		if q != nil {
			if err := s.dropApprovalsTx(ctx, tx, t.ID, "feedback"); err != nil {
				return err
			}
			if _, err := ask.CloseTx(ctx, tx, q.ID, ask.Withdrawn, nil, id.Participant{}); err != nil {
				return err
			}
		}
		note := fmt.Sprintf("%s says: %s", actor.DisplayName, cutText(strings.TrimSpace(feedback), ask.MaxAnswer))
		if t.Status.Parked() {
			return s.wakeTx(ctx, tx, t, task.ReasonWoken, actor.ID, note)
		}
		return task.MoveTx(ctx, tx, t, task.Reassign, task.Change{Actor: actor.ID, Note: "feedback", WakeNote: &note, RetryAt: t.RetryAt})
	})
}
