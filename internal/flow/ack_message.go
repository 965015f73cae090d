package flow

import (
	"context"
	"fmt"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

// errNoSuchItem is the answer to a queue row that this agent never had.
var errNoSuchItem = fault.New(fault.NotFound, "queue_item_not_found", "There is no such message in this agent's queue.")

// HeldClaim names a claim as a bridge does. Generation is nil for a bridge that
// is not ours: then only the executor fences (decision 16).
type HeldClaim struct {
	QueueID    id.QueueItem
	ExecutorID id.Executor
	Generation *int64
}

func (h HeldClaim) owns(ex id.Executor, generation int64) bool {
	return h.ExecutorID == ex && !ex.IsZero() && (h.Generation == nil || *h.Generation == generation)
}

// Ack ends a turn whose reply, if any, was posted before (bridge contract 2.7).
// The outcome is what the rows say: answered, passed, failed, merged into a newer
// message, or unanswered, which people see. Acknowledging a turn that this
// executor finished before gives the same outcome again; a lost claim gives
// turn.ErrLost.
func (g *Gateway) Ack(ctx context.Context, actor access.Actor, h HeldClaim) (out turn.Outcome, err error) {
	if err := access.RequireAgent(actor); err != nil {
		return "", err
	}
	err = g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		var a answer
		var used turn.Tokens
		group, err := heldTx(ctx, tx, actor.ID, h, func(b *pg.Batch) {
			a.read(b, h.QueueID)
			turn.AddUsageOf(b, actor.ID, h.QueueID, &used)
		})
		if err != nil {
			return err
		}
		if group == nil {
			t, err := finishedTx(ctx, tx, actor.ID, h)
			out = t.Outcome
			return err
		}
		head := group[len(group)-1]
		r, err := g.resultBy(ctx, tx, head, a)
		if err != nil {
			return err
		}
		r.Tokens, out = used, r.Outcome
		return g.finishTx(ctx, tx, group, r)
	})
	return out, err
}

// heldTx locks the turn and proves that the caller holds it: turn.ErrLost when it
// does not. Nil means that the row is gone: see finishedTx.
func heldTx(ctx context.Context, tx *pg.Tx, agent id.Participant, h HeldClaim, further ...func(*pg.Batch)) ([]turn.Claim, error) {
	group, waiting, err := lockTurnTx(ctx, tx, agent, h.QueueID, further...)
	if err != nil {
		return nil, err
	}
	if waiting {
		return nil, turn.ErrLost
	}
	if len(group) == 0 {
		return nil, nil
	}
	head := group[len(group)-1]
	if !h.owns(head.ExecutorID, head.Generation) {
		return nil, turn.ErrLost
	}
	return group, nil
}

// finishedTx finds the turn that the row became, when it was this caller's.
func finishedTx(ctx context.Context, tx *pg.Tx, agent id.Participant, h HeldClaim) (turn.Turn, error) {
	t, err := turn.Finished(ctx, tx, agent, h.QueueID)
	switch {
	case err != nil:
		return turn.Turn{}, err
	case t == nil:
		return turn.Turn{}, errNoSuchItem
	case !h.owns(t.ExecutorID, t.Generation):
		return turn.Turn{}, turn.ErrLost
	}
	return *t, nil
}

// answer is what the agent said in the turn of a row: the message that the row names,
// else what it spoke through a tool (field.md 10).
type answer struct {
	item    id.QueueItem
	message view.Message
	found   bool // not deleted since
}

func (a *answer) read(b *pg.Batch, item id.QueueItem) {
	a.item = item
	view.AddAnswer(b, item, &a.message, &a.found)
}

// resultTx says how a turn ended by what is stored.
func (g *Gateway) resultTx(ctx context.Context, tx *pg.Tx, head turn.Claim) (turn.Result, error) {
	return g.resultBy(ctx, tx, head, answer{})
}

// resultBy is resultTx with an answer that was read under the lock; that of another
// row than the head is read again.
func (g *Gateway) resultBy(ctx context.Context, tx *pg.Tx, head turn.Claim, a answer) (turn.Result, error) {
	if a.item != head.QueueID {
		var b pg.Batch
		a.read(&b, head.QueueID)
		if err := pg.Run(ctx, tx, &b); err != nil {
			return turn.Result{}, fmt.Errorf("read answer: %w", err)
		}
	}
	switch {
	case a.found:
		return answeredBy(a.message), nil
	case !head.AnswerID.IsZero():
		return turn.Result{Outcome: turn.Answered, AnswerID: head.AnswerID}, nil
	}
	if head.Passed() || head.AnsweredAt != nil {
		return turn.Result{Outcome: turn.Passed}, nil
	}
	// The draft was dropped for newer messages, or this is the ack of a duplicate
	// whose draft was: the next turn, which sees this message, covers it.
	if head.StaleRefused || head.Generation > 1 {
		next, err := turn.WaitingInRoom(ctx, tx, head.AgentID, head.ConversationID)
		if err != nil {
			return turn.Result{}, err
		}
		if len(next) > 0 {
			return turn.Result{Outcome: turn.Merged, MergedInto: next[0]}, nil
		}
	}
	return turn.Result{Outcome: turn.Unanswered}, nil
}

// answeredBy reads the outcome off the stored message.
func answeredBy(m view.Message) turn.Result {
	r := turn.Result{Outcome: turn.Answered, AnswerID: m.ID}
	r.Model, r.Backend = stringKey(m.Metadata, "model"), stringKey(m.Metadata, "backend")
	kind := stringKey(m.Metadata, "errorKind")
	switch {
	case m.Type() == "EndTurn":
		r.Outcome = turn.Passed
	case m.Type() == "ErrorReport":
		r.Outcome, r.ErrorCode = turn.Failed, orText(stringKey(m.Metadata, "error_code"), "error_report")
	case kind != "":
		r.Outcome, r.ErrorCode = turn.Failed, kind
	}
	return r
}

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// AckedItem is one answer of a batch.
type AckedItem struct {
	QueueID string
	Err     error // nil = acknowledged
}

// AckAll acknowledges each by itself: one that fails leaves the others alone.
func (g *Gateway) AckAll(ctx context.Context, actor access.Actor, ex id.Executor, items []string) ([]AckedItem, error) {
	if err := access.RequireAgent(actor); err != nil {
		return nil, err
	}
	if len(items) > 500 {
		return nil, fault.New(fault.Invalid, "invalid", "At most 500 messages can be acknowledged at once.").With("ids", "too_many", "at most 500")
	}
	out := make([]AckedItem, len(items))
	for n, s := range items {
		q, err := id.Parse[id.QueueItem](s)
		if err != nil {
			out[n] = AckedItem{s, errNoSuchItem}
			continue
		}
		_, err = g.Ack(ctx, actor, HeldClaim{QueueID: q, ExecutorID: ex})
		if err != nil && fault.KindOf(err) == fault.Unavailable {
			return nil, err
		}
		out[n] = AckedItem{s, err}
	}
	return out, nil
}

// Release gives a turn back without an attempt: a bridge of ours drains. One that
// is answered is closed instead.
func (g *Gateway) Release(ctx context.Context, actor access.Actor, h HeldClaim) error {
	if err := access.RequireAgent(actor); err != nil {
		return err
	}
	return g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		group, err := heldTx(ctx, tx, actor.ID, h)
		if err != nil {
			return err
		}
		if group == nil {
			_, err := finishedTx(ctx, tx, actor.ID, h)
			return err
		}
		if head := group[len(group)-1]; head.AnsweredAt != nil {
			r, err := g.resultTx(ctx, tx, head)
			if err != nil {
				return err
			}
			return g.finishTx(ctx, tx, group, r)
		}
		if err := turn.ReleaseTx(ctx, tx, group, true); err != nil {
			return err
		}
		tx.AfterCommit(func() { g.over(group) })
		return publishReceiptsTx(ctx, tx, group)
	})
}
