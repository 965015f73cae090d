package flow

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/turn"
)

// ApprovalDelivery tells a run what was decided (docs/protocol.md 9).
type ApprovalDelivery struct {
	Row      approval.Waiting
	Approval approval.Approval
	Lease    time.Duration
}

// approvalWork is the queue of runs that wait to hear what was decided.
type approvalWork struct {
	*Gateway
	queue *approval.Queue
	jobs  DecisionJobs
	owner *Approvals

	mu   sync.Mutex
	owed []owedRelease // what could not be given back for lack of a database
}

// owedRelease is a release that is still to be made.
type owedRelease struct {
	agent  id.Participant
	ex     id.Executor
	pushed []id.QueueItem
}

func (w *approvalWork) owe(o owedRelease) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.owed) < 10_000 { // beyond, the leases end by themselves
		w.owed = append(w.owed, o)
	}
}

func (w *approvalWork) takeOwed() []owedRelease {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := w.owed
	w.owed = nil
	return out
}

// followTask moves the task of a run whose claim has changed.
func (w *approvalWork) followTask(tx *pg.Tx, a approval.Approval) {
	if a.Durable {
		w.owner.Tasks.followRunLater(tx, a.TaskID)
	}
}

// followRow is followTask for a row alone.
func (w *approvalWork) followRow(ctx context.Context, tx *pg.Tx, r approval.Waiting) error {
	a, err := approval.Get(ctx, tx, r.ApprovalID)
	if err != nil {
		return err
	}
	w.followTask(tx, a)
	return nil
}

// ServeOn lets the gateway's dispatcher tell runs what was decided. It is for app,
// before the gateway starts.
func (s *Approvals) ServeOn(g *Gateway) {
	s.work = &approvalWork{Gateway: g, queue: approval.NewQueue(g.cfg.MessageLease, g.cfg.MostTurn, turn.HeldIn("a.agent_id", "a.conversation_id")), jobs: s.Jobs, owner: s}
	g.Serve(s.work)
	g.busy = append(g.busy, approval.RoomsInWork)
}

func (w *approvalWork) inFlight(ctx context.Context, agent id.Participant, ex id.Executor) (int, error) {
	return approval.InFlight(ctx, w.DB, agent, ex)
}

func (w *approvalWork) claim(ctx context.Context, agent id.Participant, c claimer, slots int) ([]func(context.Context), error) {
	rows, err := w.queue.Claim(ctx, w.DB, agent, c.id, slots)
	out := make([]func(context.Context), len(rows))
	for n, r := range rows {
		out[n] = func(ctx context.Context) { w.deliver(ctx, c, r) }
	}
	return out, err
}

// deliver pushes one decision down the executor's newest socket. Whatever goes
// wrong gives it back; one that fits into no frame ends, and people are told.
func (w *approvalWork) deliver(ctx context.Context, c claimer, r approval.Waiting) {
	a, err := approval.Get(ctx, w.DB, r.ApprovalID)
	if err != nil || !w.reg.note(c.id, c.sock, r.ID) {
		if err != nil {
			w.complain(ctx, "prepare decision failed", err, r.AgentID)
		}
		w.giveBackRow(ctx, r)
		return
	}
	if a.Durable && !a.TaskID.IsZero() && w.owner.Tasks != nil {
		over, err := w.owner.Tasks.continued(ctx, a.TaskID)
		switch {
		case err != nil:
			w.complain(ctx, "continue task failed", err, r.AgentID)
			w.giveBackRow(ctx, r)
			return
		case over: // its end came another way: there is nothing to go on with
			w.dropRow(ctx, r)
			return
		}
	}
	switch err := c.sock.DeliverApproval(ApprovalDelivery{Row: r, Approval: a, Lease: w.queue.Lease}); {
	case err == nil:
	case errors.Is(err, ErrUndeliverable):
		w.complain(ctx, "decision is too large", err, r.AgentID)
		if err := w.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return w.failTx(ctx, tx, r) }); err != nil {
			w.complain(ctx, "end decision failed", err, r.AgentID)
		}
	default:
		w.LeaveExecutor(ctx, access.Actor{Kind: access.Agent, ID: r.AgentID}, c.id, c.sock)
		c.sock.Shut("push failed")
	}
}

func (w *approvalWork) giveBackRow(ctx context.Context, r approval.Waiting) {
	err := w.DB.InTx(context.WithoutCancel(ctx), func(ctx context.Context, tx *pg.Tx) error {
		if _, err := w.queue.ReleaseTx(ctx, tx, r.ExecutorID, r); err != nil {
			return err
		}
		return w.followRow(ctx, tx, r)
	})
	if err != nil { // its lease ends by itself
		w.complain(ctx, "give decision back failed", err, r.AgentID)
	}
}

// dropRow ends a decision that is of no use any more.
func (w *approvalWork) dropRow(ctx context.Context, r approval.Waiting) {
	err := w.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		w.overAfter(tx, r)
		return w.queue.ToldTx(ctx, tx, r, true)
	})
	if err != nil {
		w.complain(ctx, "drop decision failed", err, r.AgentID)
	}
}

// failTx gives a decision up: its run cannot be told. People read it.
func (w *approvalWork) failTx(ctx context.Context, tx *pg.Tx, r approval.Waiting) error {
	if err := w.queue.ToldTx(ctx, tx, r, true); err != nil {
		return err
	}
	w.overAfter(tx, r)
	if err := w.followRow(ctx, tx, r); err != nil {
		return err
	}
	return w.jobs.Answer(ctx, tx, approval.AnswerArgs{ApprovalID: r.ApprovalID, NotResumed: true})
}

// overAfter frees the slot once it is committed.
func (w *approvalWork) overAfter(tx *pg.Tx, r approval.Waiting) {
	tx.AfterCommit(func() {
		w.reg.forget(r.ExecutorID, r.ID)
		w.Wake(r.AgentID)
		w.tell.wake(r.AgentID)
	})
}

func (w *approvalWork) waiting(ctx context.Context, agents []id.Participant) ([]id.Participant, error) {
	return approval.WaitingAgents(ctx, w.DB, agents)
}

func (w *approvalWork) start(ctx context.Context) error {
	return w.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return w.queue.ReleaseUnseen(ctx, tx) })
}

func (w *approvalWork) beatTx(ctx context.Context, tx *pg.Tx, agent id.Participant, ex id.Executor, b Beat) ([]NamedTurn, error) {
	held, err := w.queue.HeldBy(ctx, tx, agent, ex)
	if err != nil {
		return nil, err
	}
	var alive []approval.Waiting
	names := make([]NamedTurn, len(held))
	for n, r := range held {
		names[n] = NamedTurn{r.ID.String(), r.Generation}
		for _, c := range b.Claims {
			if c == names[n] {
				alive = append(alive, r)
			}
		}
	}
	return names, w.queue.ExtendTx(ctx, tx, ex, alive)
}

// release takes back what an executor holds: what it has not confirmed as if it had
// never been claimed, the rest as one attempt.
func (w *approvalWork) release(ctx context.Context, agent id.Participant, ex id.Executor, pushed []id.QueueItem) (n int, err error) {
	if n, err = w.releaseNow(ctx, agent, ex, pushed); err != nil && (pushed == nil || len(pushed) > 0) {
		w.owe(owedRelease{agent, ex, pushed})
	}
	return n, err
}

func (w *approvalWork) releaseNow(ctx context.Context, agent id.Participant, ex id.Executor, pushed []id.QueueItem) (n int, err error) {
	only := make(map[id.QueueItem]bool, len(pushed))
	for _, q := range pushed {
		only[q] = true
	}
	err = w.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		n = 0
		held, err := w.queue.HeldBy(ctx, tx, agent, ex)
		if err != nil {
			return err
		}
		for _, r := range held {
			if pushed != nil && (!only[r.ID] || r.SeenAt != nil) {
				continue
			}
			n++
			if err := w.takeBackTx(ctx, tx, r); err != nil {
				return err
			}
		}
		return nil
	})
	return n, err
}

// takeBackTx opens a row again, or gives it up after the last attempt.
func (w *approvalWork) takeBackTx(ctx context.Context, tx *pg.Tx, r approval.Waiting) error {
	if err := w.followRow(ctx, tx, r); err != nil {
		return err
	}
	if r.SeenAt == nil {
		w.overAfter(tx, r)
		_, err := w.queue.ReleaseTx(ctx, tx, r.ExecutorID, r)
		return err
	}
	if _, err := w.queue.HoldTx(ctx, tx, r.ExecutorID, r.ID, r.Generation); err != nil {
		if errors.Is(err, turn.ErrLost) { // it was ended meanwhile
			return nil
		}
		return err
	}
	if r.Attempt >= w.cfg.MaxAttempts {
		return w.failTx(ctx, tx, r)
	}
	w.overAfter(tx, r)
	return w.queue.ReopenTx(ctx, tx, r)
}

func (w *approvalWork) sweep(ctx context.Context) error {
	var errs error
	for _, o := range w.takeOwed() {
		if o.pushed == nil && w.reg.executorOnline(o.ex) {
			continue // it came back and knows what it holds
		}
		if _, err := w.release(ctx, o.agent, o.ex, o.pushed); err != nil {
			errs = errors.Join(errs, err) // it is owed again
			continue
		}
		w.Wake(o.agent)
	}
	if errs != nil {
		return errs
	}
	return w.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		lapsed, err := w.queue.LapsedTx(ctx, tx)
		if err != nil {
			return err
		}
		for _, r := range lapsed {
			if err := w.takeBackTx(ctx, tx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

// HeldApproval names a claimed decision as a bridge does.
type HeldApproval struct {
	QueueID    id.QueueItem
	ExecutorID id.Executor
	Generation int64
}

// Ack ends the row: the run was resumed and is over, or (failed) it cannot be
// resumed, and people are told. The same call again changes nothing. turn.ErrLost:
// the claim is not the caller's any more.
func (s *Approvals) Ack(ctx context.Context, actor access.Actor, h HeldApproval, failed bool) error {
	return s.heldTx(ctx, actor, h, func(ctx context.Context, tx *pg.Tx, r approval.Waiting) error {
		if failed {
			return s.work.failTx(ctx, tx, r)
		}
		s.work.overAfter(tx, r)
		if err := s.work.queue.ToldTx(ctx, tx, r, false); err != nil {
			return err
		}
		return s.work.followRow(ctx, tx, r) // a run that stopped at another call, or ended nothing
	})
}

// Release gives the row back without an attempt: a bridge drains.
func (s *Approvals) Release(ctx context.Context, actor access.Actor, h HeldApproval) error {
	return s.heldTx(ctx, actor, h, func(ctx context.Context, tx *pg.Tx, r approval.Waiting) error {
		s.work.overAfter(tx, r)
		if _, err := s.work.queue.ReleaseTx(ctx, tx, r.ExecutorID, r); err != nil {
			return err
		}
		return s.work.followRow(ctx, tx, r)
	})
}

// heldTx proves that the caller holds the row. A row that this very claim ended is
// not an error, and do is not called.
func (s *Approvals) heldTx(ctx context.Context, actor access.Actor, h HeldApproval, do func(context.Context, *pg.Tx, approval.Waiting) error) error {
	if err := access.RequireAgent(actor); err != nil {
		return err
	}
	if h.Generation < 1 {
		return fault.New(fault.Invalid, "invalid", "The claim is not named.").With("generation", "required", "names the claim")
	}
	return s.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if mine, err := approval.IsRow(ctx, tx, actor.ID, h.QueueID); err != nil {
			return err
		} else if mine {
			r, err := s.work.queue.HoldTx(ctx, tx, h.ExecutorID, h.QueueID, h.Generation)
			if err != nil {
				return err
			}
			return do(ctx, tx, r)
		}
		a, err := approval.ToldAs(ctx, tx, actor.ID, h.QueueID)
		switch {
		case err != nil:
			return err
		case a == nil:
			return errNoSuchItem
		case a.ToldExecutorID != h.ExecutorID || a.ToldGeneration == nil || *a.ToldGeneration != h.Generation:
			return turn.ErrLost
		}
		return nil
	})
}

// StopTx ends what an agent, zero for every agent, still asks in a room and what
// its runs there wait to hear or were just told, and tells bridges to stop.
func (s *Approvals) StopTx(ctx context.Context, tx *pg.Tx, room id.Conversation, agent id.Participant, reason string) error {
	if err := s.cancelTx(ctx, tx, room, agent); err != nil {
		return err
	}
	rows, err := s.work.queue.StopTx(ctx, tx, room, agent)
	if err != nil {
		return err
	}
	for _, r := range rows {
		s.work.overAfter(tx, r)
		a, err := approval.Get(ctx, tx, r.ApprovalID)
		if err != nil {
			return err
		}
		s.Tasks.stoppedLater(tx, a.TaskID)
		if r.LeaseUntil != nil {
			tx.AfterCommit(func() { s.work.reg.command(r.ExecutorID, stopGeneration(room, reason)) })
		}
	}
	return nil
}
