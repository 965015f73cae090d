package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

// claimFor fills the free slots of the agent's joined executors, the idlest
// first, and pushes what it claimed. Join, catch-up, wake, poll and a slot that
// became free all end here. It runs once at a time per agent; what fails is tried
// again by the poll.
func (g *Gateway) claimFor(ctx context.Context, agent id.Participant) {
	type free struct {
		claimer
		slots int
	}
	over := g.overBudget(ctx, agent) // also where nothing waits: its owner is asked at once
	claimers := g.reg.claimers(agent)
	if len(claimers) == 0 {
		return
	}
	g.pushAsides(ctx, agent, claimers)
	sources, err := g.waitingFor(ctx, agent)
	if err != nil {
		g.complain(ctx, "look for work failed", err, agent)
		return
	}
	if len(sources) == 0 || over {
		return
	}
	var frees []free
	for _, c := range claimers {
		left := c.slots
		for _, s := range g.sources {
			n, err := s.inFlight(ctx, agent, c.id)
			if err != nil {
				g.complain(ctx, "count turns failed", err, agent)
				return
			}
			left -= n
		}
		if left > 0 {
			frees = append(frees, free{c, left})
		}
	}
	slices.SortStableFunc(frees, func(a, b free) int { return cmp.Compare(b.slots, a.slots) })
	for _, f := range frees {
		for _, s := range sources {
			pushes, err := s.claim(ctx, agent, f.claimer, f.slots)
			if err != nil {
				g.complain(ctx, "claim failed", err, agent)
				return
			}
			f.slots -= len(pushes)
			for _, push := range pushes {
				push(ctx)
			}
			if f.slots <= 0 {
				break
			}
		}
	}
}

// waitingFor lists the sources that have something for the agent. A wake that comes
// late, as most do that follow a claim, ends with it.
func (g *Gateway) waitingFor(ctx context.Context, agent id.Participant) (out []workSource, err error) {
	for _, s := range g.sources {
		some, err := s.waiting(ctx, []id.Participant{agent})
		if err != nil {
			return nil, err
		}
		if len(some) > 0 {
			out = append(out, s)
		}
	}
	return out, nil
}

func (g *Gateway) complain(ctx context.Context, msg string, err error, agent id.Participant) {
	if ctx.Err() == nil {
		g.Log.WarnContext(ctx, msg, slog.Any("error", err), slog.String("agent_id", agent.String()))
	}
}

// claimSlots leases work in one short transaction; nothing is held while it is
// prepared and pushed.
func (g *Gateway) claimSlots(ctx context.Context, agent id.Participant, c claimer, slots int) (turns [][]turn.Claim, err error) {
	g.holder.add(agent) // before the commit, so that the sweep never misses a claim
	err = g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if turns, err = g.queue.ClaimTx(ctx, tx, agent, c.id, slots, c.ours); err != nil {
			return err
		}
		return publishReceiptsTx(ctx, tx, turns...)
	})
	return turns, err
}

// ErrUndeliverable is wrapped by ExecutorSocket.Deliver for a turn that no socket
// can take: it is too large for a frame.
var ErrUndeliverable = errors.New("flow: a turn does not fit into a frame")

// deliver pushes one claimed turn down the executor's newest socket. Whatever
// goes wrong gives it back: only a push that was queued leaves the claim. A socket
// that takes nothing is not used again.
func (g *Gateway) deliver(ctx context.Context, c claimer, group []turn.Claim) {
	head := group[len(group)-1]
	d, err := g.prepare(ctx, c, group)
	switch {
	case err != nil:
		g.complain(ctx, "prepare turn failed", err, head.AgentID)
		g.giveBack(ctx, head, !pg.IsUnavailable(err) && ctx.Err() == nil)
		return
	case d == nil: // nobody is left to be answered
		g.endUndelivered(ctx, head, turn.Result{Outcome: turn.Passed, ErrorCode: "nothing_to_answer"})
		return
	case !g.reg.note(c.id, c.sock, head.QueueID):
		g.giveBack(ctx, head, false)
		return
	}
	switch err := c.sock.Deliver(*d); {
	case err == nil:
		g.notAwaiting(ctx, *d)
	case errors.Is(err, ErrUndeliverable):
		g.complain(ctx, "turn is too large", err, head.AgentID)
		g.endUndelivered(ctx, head, turn.Result{Outcome: turn.Failed, ErrorCode: codeUndeliverable, ErrorMessage: "The turn is too large to be delivered."})
	default:
		g.LeaveExecutor(ctx, access.Actor{Kind: access.Agent, ID: head.AgentID}, c.id, c.sock)
		c.sock.Shut("push failed")
	}
}

func (g *Gateway) endUndelivered(ctx context.Context, head turn.Claim, r turn.Result) {
	if err := g.endTurn(ctx, head, r); err != nil {
		g.complain(ctx, "end turn failed", err, head.AgentID)
		g.giveBack(ctx, head, false)
	}
}

// publishReceiptsTx tells the rooms how the messages of these turns stand now.
func publishReceiptsTx(ctx context.Context, tx *pg.Tx, turns ...[]turn.Claim) error {
	var b pg.Batch
	receipts := make([][]view.Receipt, len(turns))
	for n, group := range turns {
		addReceipts(&b, group, &receipts[n])
	}
	if err := pg.Run(ctx, tx, &b); err != nil {
		return fmt.Errorf("read receipts: %w", err)
	}
	for n, group := range turns {
		publishReceipts(tx, group, receipts[n])
	}
	return nil
}

// addReceipts reads how the messages of a turn stand.
func addReceipts(b *pg.Batch, group []turn.Claim, into *[]view.Receipt) {
	if len(group) > 0 {
		view.AddReceipts(b, group[0].ConversationID, messagesOf(group), into)
	}
}

// publishReceipts tells the room those of the agent whose turn it is.
func publishReceipts(tx *pg.Tx, group []turn.Claim, receipts []view.Receipt) {
	for _, r := range receipts {
		if conv := group[0].ConversationID; r.AgentID == group[0].AgentID {
			tx.Publish(event.ConversationTopic(conv.String()), ReceiptChanged{conv, r})
		}
	}
}
