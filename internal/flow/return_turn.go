package flow

import (
	"context"
	"errors"
	"log/slog"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/turn"
)

// codeAttempts is the code of a turn that was given up.
const codeAttempts = "attempts_exhausted"

// holds decides, with the turn locked, whether it is still to be taken back.
type holds func(ctx context.Context, tx *pg.Tx, head turn.Claim) (bool, error)

// codeUndeliverable is the code of a turn that does not fit into a frame.
const codeUndeliverable = "undeliverable"

// takeBack ends an executor's hold on a turn: one that was answered is closed and
// never delivered again (decision 14), one that nobody confirmed goes back as if
// it had not been claimed, any other goes back as one attempt more and is given up
// visibly after the last. It does nothing when still says so.
func (g *Gateway) takeBack(ctx context.Context, agent id.Participant, q id.QueueItem, still holds) error {
	return g.takeBackAs(ctx, agent, q, still, false)
}

// takeBackAs is takeBack. With blame the attempt counts also when nobody confirmed
// it, and the next one is left to the poll: something is wrong with the turn
// itself, and it must not be tried in a circle.
func (g *Gateway) takeBackAs(ctx context.Context, agent id.Participant, q id.QueueItem, still holds, blame bool) error {
	return g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		group, _, err := lockTurnTx(ctx, tx, agent, q)
		if err != nil || len(group) == 0 {
			return err
		}
		head := group[len(group)-1]
		if ok, err := still(ctx, tx, head); err != nil || !ok {
			return err
		}
		if head.AnsweredAt != nil {
			r, err := g.resultTx(ctx, tx, head)
			if err != nil {
				return err
			}
			return g.finishTx(ctx, tx, group, r)
		}
		unseen := head.SeenAt == nil && !blame
		if !unseen && head.Attempt >= g.cfg.MaxAttempts {
			return g.finishTx(ctx, tx, group, turn.Result{Outcome: turn.Failed, ErrorCode: codeAttempts, ErrorMessage: "No executor finished this turn."})
		}
		if err := turn.ReleaseTx(ctx, tx, group, unseen); err != nil {
			return err
		}
		tx.AfterCommit(func() {
			g.ended(group)
			if !blame {
				g.Wake(head.AgentID)
			}
		})
		return publishReceiptsTx(ctx, tx, group)
	})
}

// giveBack returns a turn that did not reach its bridge. When the database is away
// it is owed, and the sweep tries again; when the server stops, the next start does.
func (g *Gateway) giveBack(ctx context.Context, head turn.Claim, blame bool) {
	if g.life.Err() != nil {
		return
	}
	err := g.takeBackAs(context.WithoutCancel(ctx), head.AgentID, head.QueueID, sameClaim(head), blame)
	if err != nil {
		g.complain(ctx, "give back failed", err, head.AgentID)
		g.owed.add(head)
	}
}

// sameClaim holds for this very claim; one without a generation is any that its
// executor has not confirmed.
func sameClaim(c turn.Claim) holds {
	return func(_ context.Context, _ *pg.Tx, head turn.Claim) (bool, error) {
		if c.Generation == 0 {
			return head.ExecutorID == c.ExecutorID && head.SeenAt == nil, nil
		}
		return head.Generation == c.Generation && head.ExecutorID == c.ExecutorID, nil
	}
}

// releaseUnconfirmed gives back, at start, every claim that nobody confirmed.
func (g *Gateway) releaseUnconfirmed(ctx context.Context) error {
	const page = 500
	for {
		rows, err := turn.Unseen(ctx, g.DB, page)
		if err != nil {
			return err
		}
		for _, c := range rows {
			err := g.takeBack(ctx, c.AgentID, c.QueueID, func(_ context.Context, _ *pg.Tx, head turn.Claim) (bool, error) { return head.SeenAt == nil, nil })
			if err != nil {
				return err
			}
		}
		if len(rows) < page {
			return nil
		}
	}
}

// releaseTurns takes back every message that an executor holds.
func (g *Gateway) releaseTurns(ctx context.Context, agent id.Participant, ex id.Executor) (n int, err error) {
	heads, err := turn.Heads(ctx, g.DB, agent, ex)
	if err != nil {
		return 0, err
	}
	for _, h := range heads {
		if pg.IsUnavailable(err) { // not a wait for each
			g.owed.add(h)
			continue
		}
		if e := g.takeBack(ctx, agent, h.QueueID, sameClaim(h)); e != nil {
			err = errors.Join(err, e)
			g.owed.add(h)
			continue
		}
		n++
	}
	return n, err
}

// sweepClaims takes back what lapsed (decision 13). It looks only at agents that
// may hold claims.
func (g *Gateway) sweepClaims(ctx context.Context) error {
	if back := g.owed.take(); len(back) > 0 {
		if err := g.DB.Ping(ctx); err != nil { // one look instead of a wait for each
			g.owed.add(back...)
			return err
		}
		for _, c := range back {
			g.giveBack(ctx, c, false)
		}
	}
	lapsed, err := turn.Lapsed(ctx, g.DB, g.holder.list(), g.cfg.MostTurn)
	if err != nil {
		return err
	}
	for _, c := range lapsed {
		e := g.takeBack(ctx, c.AgentID, c.QueueID, func(ctx context.Context, tx *pg.Tx, head turn.Claim) (bool, error) {
			return turn.StillLapsedTx(ctx, tx, head.QueueID, g.cfg.MostTurn)
		})
		if e != nil {
			err = errors.Join(err, e)
			continue
		}
		g.Log.InfoContext(ctx, "claim lapsed", slog.String("queue_id", c.QueueID.String()), slog.String("agent_id", c.AgentID.String()),
			slog.String("executor_id", c.ExecutorID.String()), slog.Bool("answered", c.AnsweredAt != nil))
	}
	return err
}
