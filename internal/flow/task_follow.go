package flow

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/ask"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/view"
)

// follow looks at what the end of a task means for others: its parent's barrier, what
// waits for it, and its own open sub-tasks. Each is decided from what is stored, in a
// transaction of its own; what is lost with the process is found by the sweep.
func (s *Tasks) follow(ctx context.Context, t task.Task) {
	if !t.ParentTaskID.IsZero() {
		s.join(ctx, t.ParentTaskID)
	}
	waiting, err := task.Dependents(ctx, s.DB, t.ID)
	s.complain(ctx, "look for dependents failed", err, t.ID)
	for _, w := range waiting {
		s.ready(ctx, w)
	}
	orphans, err := task.Orphans(ctx, s.DB, t.ID)
	s.complain(ctx, "look for sub-tasks failed", err, t.ID)
	for _, o := range orphans {
		err := s.change(ctx, o, func(ctx context.Context, tx *pg.Tx, c *task.Task) error {
			return s.cancelTx(ctx, tx, c, id.Participant{}, "The task it belonged to has ended.")
		})
		s.complain(ctx, "cancel sub-task failed", err, o)
	}
}

// Join raises the barrier of a task's sub-tasks and says how many are open. With none
// it would never fire: Conflict. After one that has fired, any and count mean so many
// more than the run was told of.
func (s *Tasks) Join(ctx context.Context, actor access.Actor, tid id.Task, j task.Join) (open int, err error) {
	err = s.change(ctx, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		if err := s.worksTx(ctx, tx, actor, *t); err != nil {
			return err
		}
		children, err := task.Children(ctx, tx, t.ID)
		if err != nil {
			return err
		}
		open = 0
		for _, c := range children {
			if !c.Status.Ended() {
				open++
			}
		}
		if open == 0 {
			return fault.New(fault.Conflict, "no_open_subtasks", "This task has no sub-tasks that are not finished.")
		}
		next := j
		if told := task.Told(*t, children); told > 0 && j.Mode == task.JoinAny {
			next.Mode, next.Count = task.JoinCount, told+1
		} else if j.Mode == task.JoinCount {
			next.Count = min(j.Count+told, task.MaxChildren)
		}
		return task.SetJoinTx(ctx, tx, t, next)
	})
	return open, err
}

func (s *Tasks) joinLater(tx *pg.Tx, parent id.Task) {
	tx.AfterCommit(func() { s.later(func(ctx context.Context) { s.join(ctx, parent) }) })
}

// join fires the barrier of a task if it is due: a task of several assignees ends with
// their results, any other is woken with those of its sub-tasks. It fires once.
func (s *Tasks) join(ctx context.Context, parent id.Task) {
	err := s.change(ctx, parent, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		children, err := task.Children(ctx, tx, t.ID)
		if err != nil || len(children) == 0 || !task.JoinIsDue(*t, children, time.Now()) {
			return err
		}
		if !t.FanOut && t.Status != task.Waiting {
			return nil // its run goes on; the barrier holds when it is parked
		}
		if err := task.FireJoinTx(ctx, tx, t); err != nil {
			return err
		}
		if t.FanOut {
			return s.endFanOutTx(ctx, tx, t, children)
		}
		note, err := s.joinNote(ctx, tx, *t, children)
		if err != nil {
			return err
		}
		if q, err := ask.OpenOf(ctx, tx, t.ID); err != nil {
			return err
		} else if q != nil { // it waits for an answer too, which wakes it with both
			return task.MoveTx(ctx, tx, t, task.ParkAgain, task.Change{To: t.Status, WakeNote: &note, Note: "sub-tasks have ended"})
		}
		return s.wakeTx(ctx, tx, t, task.ReasonWoken, id.Participant{}, note)
	})
	if fault.KindOf(err) != fault.NotFound {
		s.complain(ctx, "join failed", err, parent)
	}
}

// mostJoinNote bounds in bytes what a run is told of its sub-tasks' results.
const mostJoinNote = 40_000

// joinNote tells a run how its sub-tasks went.
func (s *Tasks) joinNote(ctx context.Context, q pg.Querier, t task.Task, children []task.Task) (string, error) {
	agent, _, err := s.runner(ctx, q, t)
	if err != nil {
		return "", err
	}
	people, err := view.TaskPeople(ctx, q, []id.Participant{agent})
	if err != nil {
		return "", err
	}
	var b strings.Builder
	open, untold := 0, 0
	b.WriteString("Results of the sub-tasks:")
	for _, c := range children {
		if !c.Status.Ended() {
			open++
			continue
		}
		line, err := resultLine(ctx, q, people[agent].OwnerID, c)
		if err != nil {
			return "", err
		}
		if b.Len()+len(line) > mostJoinNote { // whole results only: a fence must not be cut
			untold++
			continue
		}
		b.WriteString("\n- " + line)
	}
	if untold > 0 {
		fmt.Fprintf(&b, "\n%d more results are too long to be told here: read them with get_task.", untold)
	}
	if open > 0 {
		fmt.Fprintf(&b, "\n%d sub-tasks are not finished; they are cancelled when you complete the task.", open)
	}
	return b.String(), nil
}

// endFanOutTx ends a task with its sub-tasks: complete when one of them is, else failed.
func (s *Tasks) endFanOutTx(ctx context.Context, tx *pg.Tx, t *task.Task, children []task.Task) error {
	var said []string
	done, failed := 0, 0
	results := []map[string]any{}
	for _, c := range children {
		one := map[string]any{"task_id": c.ID, "status": c.Status, "assigned_to": c.AssignedTo}
		switch {
		case c.Status == task.Complete:
			done++
			if c.Response != nil {
				said = append(said, *c.Response)
				one["response"] = *c.Response
			}
		case c.Status.Ended():
			failed++
		}
		results = append(results, one)
	}
	data, err := encode(map[string]any{"subtasks": results})
	if err != nil {
		return err
	}
	if len(data) > task.MaxResult {
		data = nil // each sub-task has its own
	}
	summary := fmt.Sprintf("%d of %d are done, %d failed.", done, len(children), failed)
	if done == 0 {
		return s.failTx(ctx, tx, t, ending{code: task.CodeSubtasks, message: "None of those who were asked finished it.", summary: summary})
	}
	text := cutText(strings.Join(said, "\n\n"), task.MaxResponse)
	c := task.Change{EndKind: task.Done, Summary: &summary, ResultData: data}
	if text != "" {
		c.Response = &text
	}
	if err := task.MoveTx(ctx, tx, t, task.Finish, c); err != nil {
		return err
	}
	if !t.HasWorkRoom() || text == "" {
		return nil // each result was said in the room where it was asked for
	}
	_, err = s.sayTx(ctx, tx, *t, t.ConversationID, text, map[string]any{metaReport: t.ID})
	return err
}

// ready offers a task whose dependencies are all complete, and fails one of which a
// dependency has ended otherwise.
func (s *Tasks) ready(ctx context.Context, tid id.Task) {
	err := s.change(ctx, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		if t.Status != task.Pending {
			return nil
		}
		deps, err := task.ByID(ctx, tx, t.DependsOn)
		if err != nil {
			return err
		}
		for _, d := range deps {
			if d.Status.Ended() && d.Status != task.Complete {
				return s.failTx(ctx, tx, t, ending{code: task.CodeDependency, message: fmt.Sprintf("It depends on %q, which ended without a result.", d.Title)})
			}
		}
		return s.offerTx(ctx, tx, *t, task.ReasonNew, id.Executor{})
	})
	s.complain(ctx, "offer task failed", err, tid)
}

// retry offers a task again whose pause is over.
func (s *Tasks) retry(ctx context.Context, tid id.Task) {
	err := s.change(ctx, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		if t.Status != task.Pending || t.RetryAt == nil || t.RetryAt.After(time.Now().Add(time.Second)) {
			return nil
		}
		if err := task.MoveTx(ctx, tx, t, task.Reassign, task.Change{Note: "retry", WakeNote: t.WakeNote}); err != nil {
			return err
		}
		return s.offerTx(ctx, tx, *t, task.ReasonRetry, id.Executor{})
	})
	s.complain(ctx, "retry task failed", err, tid)
}

// sweepDue looks at what time has made due, and at what a lost process left behind.
func (s *Tasks) sweepDue(ctx context.Context) error {
	if err := s.expireAsks(ctx); err != nil {
		return err
	}
	if err := ask.Expire(ctx, s.DB); err != nil {
		return err
	}
	parked, err := view.AnsweredTasks(ctx, s.DB)
	if err != nil {
		return err
	}
	for _, t := range parked {
		s.wakeParked(ctx, t)
	}
	stopped, err := view.StoppedTasks(ctx, s.DB)
	if err != nil {
		return err
	}
	for _, t := range stopped {
		s.followRun(ctx, t)
	}
	due, err := task.AllDue(ctx, s.DB)
	if err != nil {
		return err
	}
	for _, d := range due {
		switch d.Why {
		case "join":
			s.join(ctx, d.ID)
		case "ready":
			s.ready(ctx, d.ID)
		case "retry":
			s.retry(ctx, d.ID)
		case "orphan":
			if t, err := task.Get(ctx, s.DB, d.ID); err == nil {
				s.follow(ctx, t)
			}
		}
	}
	return nil
}
