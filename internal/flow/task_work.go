package flow

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/ask"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/task"
)

// Tasks is a source of work: inFlight, claim, waiting, start, beatTx, release, sweep.

func (s *Tasks) inFlight(ctx context.Context, agent id.Participant, ex id.Executor) (int, error) {
	return task.InFlight(ctx, s.DB, agent, ex)
}

func (s *Tasks) waiting(ctx context.Context, agents []id.Participant) ([]id.Participant, error) {
	return task.WaitingAgents(ctx, s.DB, agents)
}

func (s *Tasks) counts(ctx context.Context, agent id.Participant, w *Waiting) (err error) {
	if w.Tasks, err = task.CountWaiting(ctx, s.DB, agent); err != nil {
		return err
	}
	if w.Scopes, err = ask.CountScopes(ctx, s.DB, agent); err != nil {
		return err
	}
	w.Queries, err = ask.CountQueries(ctx, s.DB, agent)
	return err
}

func (s *Tasks) claim(ctx context.Context, agent id.Participant, c claimer, slots int) ([]func(context.Context), error) {
	s.holder.add(agent) // before the commit, so that the sweep never misses a claim
	var got []task.Claim
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) (err error) {
		got, err = s.queue.ClaimTx(ctx, tx, agent, c.id, slots)
		return err
	})
	out := make([]func(context.Context), len(got))
	for n, one := range got {
		out[n] = func(ctx context.Context) { s.deliver(ctx, c, one) }
	}
	return out, err
}

// deliver pushes one claimed task down the executor's newest socket. Whatever goes
// wrong gives it back: only a push that was queued leaves the claim.
func (s *Tasks) deliver(ctx context.Context, c claimer, got task.Claim) {
	g := s.Gateway
	d, err := s.prepare(ctx, c, got)
	switch {
	case err != nil:
		s.complain(ctx, "prepare task failed", err, got.TaskID)
		s.giveBack(ctx, got)
		return
	case d == nil: // it is over, or not for this agent any more
		s.forget(ctx, got)
		return
	case !g.reg.note(c.id, c.sock, got.ID):
		s.giveBack(ctx, got)
		return
	}
	switch err := c.sock.DeliverTask(*d); {
	case err == nil:
	case errors.Is(err, ErrUndeliverable):
		s.complain(ctx, "task is too large", err, got.TaskID)
		s.failed(ctx, got.TaskID, task.CodeUndelivered, "The task is too large to be delivered.")
	default:
		g.LeaveExecutor(ctx, access.Actor{Kind: access.Agent, ID: got.AgentID}, c.id, c.sock)
		c.sock.Shut("push failed")
	}
}

// forget drops a queue row whose task is not to be run.
func (s *Tasks) forget(ctx context.Context, c task.Claim) {
	err := s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		_, err := task.DequeueTx(ctx, tx, c.TaskID)
		return err
	})
	s.complain(ctx, "drop task failed", err, c.TaskID)
	s.Gateway.reg.forget(c.ExecutorID, c.ID)
}

// failed ends a task for a reason of the platform.
func (s *Tasks) failed(ctx context.Context, tid id.Task, code, message string) {
	err := s.change(ctx, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		return s.failTx(ctx, tx, t, ending{code: code, message: message})
	})
	s.complain(ctx, "end task failed", err, tid)
}

func (s *Tasks) start(ctx context.Context) error {
	holders, err := task.Holders(ctx, s.DB)
	if err != nil {
		return err
	}
	s.holder.add(holders...)
	const page = 500
	for {
		rows, err := task.Unaccepted(ctx, s.DB, page)
		if err != nil {
			return err
		}
		for _, c := range rows {
			if err := s.takeBack(ctx, c, lapse{unaccepted: true}); err != nil {
				return err
			}
		}
		if len(rows) < page {
			break
		}
	}
	s.Gateway.running.Go(func() { s.work(s.Gateway.life) })
	return nil
}

// lapse says why a claim is taken back.
type lapse struct {
	unaccepted bool           // only if nobody has accepted it
	lapsed     bool           // only if its time is over
	bound      id.Executor    // keep it for this executor: the run survived there
	stop       string         // tell the executor to stop the run
	blame      bool           // the attempt counts though nobody accepted it
	actor      id.Participant // who wanted it; zero is the server
}

// takeBack ends an executor's hold on a task. One that was never accepted goes back
// as if it had not been claimed; any other goes back as one attempt more, and ends as
// lost after the last.
func (s *Tasks) takeBack(ctx context.Context, c task.Claim, why lapse) error {
	err := s.change(ctx, c.TaskID, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
		row, err := task.LockRowTx(ctx, tx, t.ID)
		if err != nil || row == nil || !row.Held() || row.ID != c.ID || row.ExecutorID != c.ExecutorID || (c.Generation != 0 && row.Generation != c.Generation) {
			return err
		}
		if why.unaccepted && row.AcceptedAt != nil {
			return nil
		}
		if why.lapsed {
			if over, err := s.queue.StillLapsedTx(ctx, tx, row.ID); err != nil || !over {
				return err
			}
		}
		return s.takeBackTx(ctx, tx, t, *row, why)
	})
	if fault.KindOf(err) == fault.NotFound && err != nil {
		return nil //nolint:nilerr // the task has ended meanwhile
	}
	return err
}

func (s *Tasks) takeBackTx(ctx context.Context, tx *pg.Tx, t *task.Task, row task.Claim, why lapse) error {
	if t.Status.Ended() || t.Status.Parked() {
		_, err := s.withdrawTx(ctx, tx, *t, why.stop)
		return err
	}
	g := s.Gateway
	done := func() {
		s.steps.drop(row.ID)
		g.reg.forget(row.ExecutorID, row.ID)
		if why.stop != "" {
			g.reg.command(row.ExecutorID, stopTask(t.ID, why.stop))
		}
		g.tell.wake(row.AgentID)
	}
	fresh := row.AcceptedAt == nil && !why.blame
	switch {
	case !why.bound.IsZero():
		if err := task.ReopenTx(ctx, tx, row.ID, true, task.ReasonReattach, why.bound); err != nil {
			return err
		}
		tx.AfterCommit(func() { done(); g.Wake(row.AgentID) })
		return s.backToPendingTx(ctx, tx, t, task.Change{Actor: why.actor, Note: "reattach", WakeNote: t.WakeNote})
	case fresh:
		reason, bound := row.Reason, row.BoundExecutorID
		if !bound.IsZero() && !g.reg.executorOnline(bound) {
			reason, bound = task.ReasonRetry, id.Executor{} // nobody is left who could adopt the run
		}
		if err := task.ReopenTx(ctx, tx, row.ID, true, reason, bound); err != nil {
			return err
		}
		tx.AfterCommit(func() { done(); g.Wake(row.AgentID) })
		return nil
	case row.Attempt >= s.cfg.MaxAttempts:
		tx.AfterCommit(done)
		return s.failTx(ctx, tx, t, ending{code: task.CodeExecutorLost, kind: task.Lost, message: "Nobody finished this task: its last run is gone.", stop: why.stop})
	}
	if err := task.ReopenTx(ctx, tx, row.ID, false, task.ReasonRetry, id.Executor{}); err != nil {
		return err
	}
	tx.AfterCommit(func() { done(); g.Wake(row.AgentID) })
	return s.backToPendingTx(ctx, tx, t, task.Change{Actor: why.actor, Note: "run lost", Attempt: new(row.Attempt), WakeNote: t.WakeNote})
}

func (s *Tasks) backToPendingTx(ctx context.Context, tx *pg.Tx, t *task.Task, c task.Change) error {
	if t.Status == task.Pending {
		return nil
	}
	return task.MoveTx(ctx, tx, t, task.Requeue, c)
}

// giveBack returns a task that did not reach its bridge. When the database is away it
// is owed, and the sweep tries again.
func (s *Tasks) giveBack(ctx context.Context, c task.Claim) {
	if s.Gateway.life.Err() != nil {
		return
	}
	if err := s.takeBack(context.WithoutCancel(ctx), c, lapse{unaccepted: true}); err != nil {
		s.complain(ctx, "give back task failed", err, c.TaskID)
		s.owed.add(c)
	}
}

func (s *Tasks) release(ctx context.Context, agent id.Participant, ex id.Executor, pushed []id.QueueItem) (n int, err error) {
	held, err := task.HeldBy(ctx, s.DB, agent, ex)
	if err != nil {
		return 0, err // what was not accepted lapses soon
	}
	if pushed == nil && !s.Gateway.reg.executorOnline(ex) {
		if err := task.Unbind(ctx, s.DB, agent, ex); err != nil {
			return 0, err
		}
	}
	if pushed == nil {
		if err := ask.Return(ctx, s.DB, agent, ex); err != nil {
			return 0, err
		}
		s.Gateway.asides.add(agent)
	}
	for _, c := range held {
		if pushed != nil && !slices.Contains(pushed, c.ID) {
			continue
		}
		if e := s.takeBack(ctx, c, lapse{unaccepted: pushed != nil}); e != nil {
			err = errors.Join(err, e)
			s.owed.add(c)
			continue
		}
		n++
	}
	return n, err
}

// mostResumable bounds what one registration may name.
const mostResumable = 200

// adopt is for a registration, before its executor's claims go back: what an earlier
// process held and this one says that it still runs is kept for it and redelivered
// (bridge contract 3.2). What was kept before and is not named any more is anybody's.
func (s *Tasks) adopt(ctx context.Context, agent id.Participant, ex id.Executor, resumable []string) {
	if err := task.Unbind(ctx, s.DB, agent, ex); err != nil {
		s.Gateway.complain(ctx, "unbind tasks failed", err, agent)
	}
	for _, r := range resumable[:min(len(resumable), mostResumable)] {
		tid, err := id.Parse[id.Task](r)
		if err != nil {
			continue // a run of something else
		}
		err = s.change(ctx, tid, func(ctx context.Context, tx *pg.Tx, t *task.Task) error {
			row, err := task.LockRowTx(ctx, tx, tid)
			if err != nil || row == nil || row.AgentID != agent || (row.Held() && row.ExecutorID != ex) {
				return err
			}
			return s.takeBackTx(ctx, tx, t, *row, lapse{bound: ex})
		})
		if fault.KindOf(err) != fault.NotFound {
			s.complain(ctx, "reattach task failed", err, tid)
		}
	}
}

func (s *Tasks) beatTx(ctx context.Context, tx *pg.Tx, agent id.Participant, ex id.Executor, b Beat) ([]NamedTurn, error) {
	named, _ := strings.CutPrefix(b.Activity, "processing_task:")
	held, err := task.HeldBy(ctx, tx, agent, ex)
	if err != nil {
		return nil, err
	}
	out := make([]NamedTurn, len(held))
	for n, c := range held {
		out[n] = NamedTurn{c.ID.String(), c.Generation}
		alive := named == c.ID.String() || named == c.TaskID.String()
		for _, x := range b.Claims {
			alive = alive || x == out[n]
		}
		if alive {
			if err := s.queue.ExtendTx(ctx, tx, c); err != nil && !errors.Is(err, task.ErrLost) {
				return nil, err
			}
		}
	}
	return out, nil
}

func (s *Tasks) sweep(ctx context.Context) error {
	for _, c := range s.owed.take() {
		if !c.ID.IsZero() {
			s.giveBack(ctx, c)
		}
	}
	lapsed, err := s.queue.Lapsed(ctx, s.DB, s.holder.list())
	if err != nil {
		return err
	}
	for _, c := range lapsed {
		// The executor may be alive and the run hung: it is told to stop before anybody runs it again.
		if e := s.takeBack(ctx, c, lapse{lapsed: true, stop: "lease_expired"}); e != nil {
			err = errors.Join(err, e)
			continue
		}
		s.Log.InfoContext(ctx, "task claim lapsed", slog.String("queue_id", c.ID.String()), slog.String("task_id", c.TaskID.String()), slog.Bool("accepted", c.AcceptedAt != nil))
	}
	return errors.Join(err, s.sweepDue(ctx))
}

// stepCache spares the database a write for every progress of a run.
type stepCache struct {
	mu sync.Mutex
	m  map[id.QueueItem]lastStep
}

type lastStep struct {
	at   time.Time // of the last sign that was written
	step string
	n    int // steps that were written
}

// mostSteps bounds the steps of one run that its history keeps.
const mostSteps = 300

// next says whether a sign of life is due, and whether the step is new.
func (c *stepCache) next(q id.QueueItem, step string) (sign, fresh bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.m[q]
	sign = time.Since(l.at) >= signEvery
	fresh = step != "" && step != l.step && l.n < mostSteps
	if sign || fresh {
		l.at = time.Now()
	}
	if fresh {
		l.step = step
		l.n++
	}
	c.m[q] = l
	return sign, fresh
}

func (c *stepCache) drop(q id.QueueItem) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.m, q)
}
