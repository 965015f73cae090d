package flow

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/agent"
	"github.com/agntchat/agntchat/internal/executor"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/turn"
)

// LeaseSeconds is what a bridge is told about claims.
func (g *Gateway) LeaseSeconds() int { return int(g.cfg.MessageLease / time.Second) }

// RegisterExecutor makes or takes over the executor of (agent, key). A new process
// replaces the old one: its sockets are told to shut down and closed, and then
// what it had claimed goes back to the queue (decision 16).
func (g *Gateway) RegisterExecutor(ctx context.Context, actor access.Actor, in executor.Registration) (executor.Executor, error) {
	if err := access.RequireAgent(actor); err != nil {
		return executor.Executor{}, err
	}
	in.AgentID = actor.ID
	var now executor.Executor
	var before *executor.Executor
	err := g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) (err error) {
		now, before, err = executor.RegisterTx(ctx, tx, in)
		return err
	})
	if err != nil {
		return executor.Executor{}, err
	}
	g.reg.put(now, time.Now())
	replaced := before != nil && (in.InstanceID == "" || before.InstanceID != in.InstanceID)
	if replaced { // first: what is kept for the new process must not go to the old one
		g.shutSockets(now.ID, "superseded")
	}
	for _, adopt := range g.adopt {
		adopt(ctx, actor.ID, now.ID, in.Resumable)
	}
	if replaced {
		if _, err := g.releaseExecutor(ctx, actor.ID, now.ID, nil); err != nil {
			g.complain(ctx, "take back work of replaced executor failed", err, actor.ID)
		}
	}
	g.Log.InfoContext(ctx, "executor registered", slog.String("executor_id", now.ID.String()), slog.String("agent_id", actor.ID.String()),
		slog.Bool("ours", now.Ours), slog.Int("max_concurrent", now.MaxConcurrent))
	g.noteActive(ctx, actor.ID)
	g.tell.wake(actor.ID)
	return now, nil
}

// shutSockets takes the sockets of an executor out of use, tells their process to
// stop, and closes them.
func (g *Gateway) shutSockets(ex id.Executor, reason string) {
	for _, s := range g.reg.takeSockets(ex) {
		_ = s.Command(Command{Type: "shutdown", Reason: reason, IssuedAt: time.Now()}) // it is closed either way
		s.Shut(reason)
	}
}

// noteActive is for the agent page; a failure is of no consequence.
func (g *Gateway) noteActive(ctx context.Context, aid id.Participant) {
	if err := agent.TouchActive(ctx, g.DB, aid); err != nil {
		g.complain(ctx, "note activity failed", err, aid)
	}
}

// Deregister is a graceful end. Another instance than the one in force leaves the
// row alone: superseded. What the process still held goes back.
func (g *Gateway) Deregister(ctx context.Context, actor access.Actor, ex id.Executor, instance string) (superseded bool, err error) {
	if err := access.RequireAgent(actor); err != nil {
		return false, err
	}
	err = g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		e, err := executor.LockTx(ctx, tx, actor.ID, ex)
		if err != nil {
			return err
		}
		superseded = instance != "" && e.InstanceID != instance
		if superseded {
			return nil
		}
		return executor.SetStatusTx(ctx, tx, ex, executor.Offline)
	})
	if err != nil || superseded {
		return superseded, err
	}
	g.reg.setOffline(ex)
	for _, s := range g.reg.takeSockets(ex) {
		s.Shut("deregistered")
	}
	_, err = g.releaseExecutor(ctx, actor.ID, ex, nil)
	g.tell.wake(actor.ID)
	return false, err
}

// ReviveExecutor authorises a socket of an executor and brings it back online. It
// fails with executor.ErrUnknown for an id that the agent does not have, and with
// Conflict when the process was replaced (instance is empty for bridges that do
// not say). AddSocket follows once the join is answered.
func (g *Gateway) ReviveExecutor(ctx context.Context, actor access.Actor, ex id.Executor, instance, version string) (ours bool, err error) {
	if err := access.RequireAgent(actor); err != nil {
		return false, err
	}
	var e executor.Executor
	err = g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) (err error) {
		e, err = executor.BeatTx(ctx, tx, actor.ID, ex, executor.Beat{BridgeVersion: version})
		return err
	})
	if err != nil {
		return false, err
	}
	if instance != "" && e.InstanceID != instance {
		return false, errSuperseded
	}
	g.reg.put(e, time.Now())
	g.tell.wake(actor.ID)
	return e.Ours, nil
}

var errSuperseded = fault.New(fault.Conflict, "superseded", "A newer process has taken over this executor.")

// AddSocket lets an executor's socket take work, and claims what waits.
func (g *Gateway) AddSocket(actor access.Actor, ex id.Executor, s ExecutorSocket) {
	if g.reg.join(ex, s) { // it was silent between the join and its answer
		err := g.DB.InTx(g.life, func(ctx context.Context, tx *pg.Tx) error {
			_, err := executor.BeatTx(ctx, tx, actor.ID, ex, executor.Beat{})
			return err
		})
		if err != nil {
			g.complain(g.life, "revive executor failed", err, actor.ID)
		}
	}
	g.askAside(actor.ID)
	g.tell.wake(actor.ID)
}

// LeaveExecutor removes a socket: what was pushed down it and nobody confirmed
// goes back at once (decision 13). The executor stays online until it is silent.
func (g *Gateway) LeaveExecutor(ctx context.Context, actor access.Actor, ex id.Executor, s ExecutorSocket) {
	pushed, was := g.reg.leave(ex, s)
	if !was {
		return
	}
	ctx = context.WithoutCancel(ctx)
	_, err := g.releaseExecutor(ctx, actor.ID, ex, pushed)
	if !pg.IsUnavailable(err) {
		err = g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return executor.TouchTx(ctx, tx, []id.Executor{ex}) })
		if err != nil {
			g.complain(ctx, "note socket end failed", err, actor.ID)
		}
	}
	g.Wake(actor.ID)
}

// Waiting counts what waits for an agent.
type Waiting struct{ Messages, Tasks, Scopes, Queries int }

// Catchup is the bridge's own wake after a join. It tells how much waits; all of it is
// claimed and pushed by the same claim as ever.
func (g *Gateway) Catchup(ctx context.Context, actor access.Actor) (w Waiting, err error) {
	if w.Messages, err = turn.CountWaiting(ctx, g.DB, actor.ID); err == nil && g.count != nil {
		err = g.count(ctx, actor.ID, &w)
	}
	g.askAside(actor.ID)
	return w, err
}

// sweepExecutors takes executors offline that were silent too long, gives their
// work back, and looks for waiting work that no wake announced.
func (g *Gateway) sweepExecutors(ctx context.Context) error {
	var errs error
	before := time.Now().Add(-g.cfg.ExecutorTimeout)
	for _, ex := range g.reg.silent(before) {
		if err := g.takeOffline(ctx, ex, before); err != nil {
			errs = errors.Join(errs, err)
		}
	}
	joined := g.reg.joinedAgents()
	for _, s := range g.sources {
		waiting, err := s.waiting(ctx, joined)
		g.Wake(waiting...)
		errs = errors.Join(errs, err)
	}
	return errs
}

// takeOffline decides in memory first, then by the row: a heartbeat or a join in
// between wins.
func (g *Gateway) takeOffline(ctx context.Context, ex id.Executor, before time.Time) error {
	agent, ok := g.reg.silence(ex, before)
	if !ok {
		return nil
	}
	gone := false
	err := g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) (err error) {
		gone, err = executor.SilentTx(ctx, tx, ex, g.cfg.ExecutorTimeout)
		return err
	})
	if err != nil || !gone {
		g.reg.unsilence(ex) // looked at again later
		return err
	}
	_, err = g.releaseExecutor(ctx, agent, ex, nil)
	g.tell.wake(agent)
	return err
}
