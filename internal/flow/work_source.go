package flow

import (
	"context"
	"errors"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/turn"
)

// workSource is a queue that the dispatcher serves: messages, and whatever
// Gateway.Serve adds. Every agent's free slots are counted over all sources
// together (decision 17); the sources are asked in the order in which they were added.
type workSource interface {
	workOffer
	workHold
}

// workOffer is how a source hands its rows out.
type workOffer interface {
	// inFlight counts the slots that an executor's claims take.
	inFlight(ctx context.Context, agent id.Participant, ex id.Executor) (int, error)
	// claim leases at most slots items to an executor in one short transaction. Each
	// answer pushes one of them, or gives it back when it cannot.
	claim(ctx context.Context, agent id.Participant, c claimer, slots int) ([]func(context.Context), error)
	// waiting lists those of the agents for which something can be claimed now.
	waiting(ctx context.Context, agents []id.Participant) ([]id.Participant, error)
}

// workHold is how a source keeps and ends leases.
type workHold interface {
	// start runs once before anything is pushed: what nobody has confirmed goes back
	// (decision 13), for no socket that got it is left.
	start(ctx context.Context) error
	// beatTx extends what a heartbeat names, and tells all that the executor holds.
	beatTx(ctx context.Context, tx *pg.Tx, agent id.Participant, ex id.Executor, b Beat) (held []NamedTurn, err error)
	// release takes everything back that an executor holds, and counts it. With pushed
	// only those of these rows that it has not confirmed: their socket ended.
	release(ctx context.Context, agent id.Participant, ex id.Executor, pushed []id.QueueItem) (int, error)
	// sweep takes back what lapsed.
	sweep(ctx context.Context) error
}

// Serve adds a source of work. It is for app, before Start.
func (g *Gateway) Serve(s workSource) { g.sources = append(g.sources, s) }

// messageWork is the queue of messages.
type messageWork struct{ *Gateway }

func (m messageWork) inFlight(ctx context.Context, agent id.Participant, ex id.Executor) (int, error) {
	return turn.InFlight(ctx, m.DB, agent, ex)
}

func (m messageWork) claim(ctx context.Context, agent id.Participant, c claimer, slots int) ([]func(context.Context), error) {
	turns, err := m.claimSlots(ctx, agent, c, slots)
	out := make([]func(context.Context), len(turns))
	for n, group := range turns {
		out[n] = func(ctx context.Context) { m.deliver(ctx, c, group) }
	}
	return out, err
}

func (m messageWork) waiting(ctx context.Context, agents []id.Participant) ([]id.Participant, error) {
	return turn.Waiting(ctx, m.DB, agents)
}

func (m messageWork) start(ctx context.Context) error {
	holders, err := turn.Holders(ctx, m.DB)
	if err != nil {
		return err
	}
	m.holder.add(holders...)
	return m.releaseUnconfirmed(ctx)
}

func (m messageWork) sweep(ctx context.Context) error { return m.sweepClaims(ctx) }

func (m messageWork) release(ctx context.Context, agent id.Participant, ex id.Executor, pushed []id.QueueItem) (n int, err error) {
	if pushed == nil {
		return m.releaseTurns(ctx, agent, ex)
	}
	for _, q := range pushed {
		if pg.IsUnavailable(err) { // not a wait for each
			m.owed.add(turn.Claim{QueueID: q, AgentID: agent, ExecutorID: ex})
			continue
		}
		e := m.takeBack(ctx, agent, q, func(_ context.Context, _ *pg.Tx, head turn.Claim) (bool, error) {
			return head.ExecutorID == ex && head.SeenAt == nil, nil
		})
		if e != nil {
			err = e
			m.complain(ctx, "give back unconfirmed failed", e, agent)
			m.owed.add(turn.Claim{QueueID: q, AgentID: agent, ExecutorID: ex})
			continue
		}
		n++
	}
	return n, err
}

// releaseExecutor takes back what an executor holds of every source: it was
// replaced, went offline or left. pushed limits it as in workHold.release.
func (g *Gateway) releaseExecutor(ctx context.Context, agent id.Participant, ex id.Executor, pushed []id.QueueItem) (n int, err error) {
	for _, s := range g.sources {
		m, e := s.release(ctx, agent, ex, pushed)
		n, err = n+m, errors.Join(err, e)
	}
	return n, err
}

func (g *Gateway) sweepSources(ctx context.Context) (err error) {
	for _, s := range g.sources {
		err = errors.Join(err, s.sweep(ctx))
	}
	return err
}
