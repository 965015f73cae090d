package flow

import (
	"context"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/external"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

// StopAgents ends what agents do in a room: their streams are cancelled, what
// waits is closed, what runs is closed and its bridge told to stop. With an agent
// only that one. lastSeen is the newest message that the caller knew: when a
// person wrote since, nothing is stopped and stale is true, for the stop was meant
// for something else.
func (g *Gateway) StopAgents(ctx context.Context, actor access.Actor, conv id.Conversation, agent id.Participant, lastSeen *id.Message) (stopped int, stale bool, err error) {
	var tell []turn.Claim
	err = g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		stopped, stale, tell = 0, false, nil
		room, err := chat.LockTx(ctx, tx, conv)
		if err != nil {
			return err
		}
		role, err := chat.Role(ctx, tx, conv, actor.ID)
		if err != nil {
			return err
		}
		if err := access.PostInRoom(actor, facts(room, role)); err != nil {
			return err
		}
		if stale, err = personWroteSince(ctx, tx, conv, lastSeen); err != nil || stale {
			return err
		}
		if err := g.stopAsking(ctx, tx, conv, agent, "stopped_by_user"); err != nil {
			return err
		}
		rows, err := turn.InRoomTx(ctx, tx, conv, agent)
		if err != nil {
			return err
		}
		agents := map[id.Participant]bool{}
		for _, group := range turnsOf(rows) {
			head := group[len(group)-1]
			r := turn.Result{Outcome: turn.Stopped}
			if head.AnsweredAt != nil {
				if r, err = g.resultTx(ctx, tx, head); err != nil {
					return err
				}
			}
			if err := g.finishTx(ctx, tx, group, r); err != nil {
				return err
			}
			agents[head.AgentID] = true
			if head.Held() {
				tell = append(tell, head)
			}
		}
		stopped = len(agents)
		return nil
	})
	if err != nil || stale {
		return 0, stale, err
	}
	for _, c := range tell { // one turn per agent and room, so nobody is told twice
		g.reg.command(c.ExecutorID, stopGeneration(conv, "stopped_by_user"))
	}
	if n := g.Rooms.CancelStreams(ctx, conv, agent); n > stopped {
		stopped = n
	}
	return stopped, false, nil
}

func (g *Gateway) stopAsking(ctx context.Context, tx *pg.Tx, conv id.Conversation, agent id.Participant, reason string) error {
	if g.StopAsking == nil {
		return nil
	}
	return g.StopAsking(ctx, tx, conv, agent, reason)
}

func stopGeneration(conv id.Conversation, reason string) Command {
	return Command{Type: "stop_generation", Reason: reason, ConversationID: conv, IssuedAt: time.Now()}
}

// turnsOf splits rows of a room into turns: the rows that one executor claimed
// together, and each waiting row by itself.
func turnsOf(rows []turn.Claim) [][]turn.Claim {
	var out [][]turn.Claim
	at := map[id.Participant]int{} // the one turn in flight of an agent
	for _, c := range rows {
		n, ok := at[c.AgentID]
		switch {
		case !c.Held():
			out = append(out, []turn.Claim{c})
		case ok:
			out[n] = append(out[n], c)
		default:
			at[c.AgentID] = len(out)
			out = append(out, []turn.Claim{c})
		}
	}
	return out
}

// personWroteSince looks for a person's message after the one the caller knew. One
// that is not in the room says nothing.
func personWroteSince(ctx context.Context, tx *pg.Tx, conv id.Conversation, last *id.Message) (bool, error) {
	if last == nil {
		return false, nil
	}
	seq, ok, err := chat.SeqOf(ctx, tx, conv, *last)
	if err != nil || !ok {
		return false, err
	}
	const look = 100
	newer, err := view.MessagesAfter(ctx, tx, conv, seq, look)
	if err != nil {
		return false, err
	}
	for _, m := range newer {
		if m.SenderKind == chat.Human {
			return true, nil
		}
	}
	return false, nil
}

// ForgetTx ends what an agent, zero for every agent, had to answer in a room that
// it no longer sits in. The room is locked. Nothing is shown: nobody waits there.
func (g *Gateway) ForgetTx(ctx context.Context, tx *pg.Tx, conv id.Conversation, agent id.Participant) error {
	if err := g.stopAsking(ctx, tx, conv, agent, "left_room"); err != nil {
		return err
	}
	if _, err := external.CloseTx(ctx, tx, conv, agent, "left_room"); err != nil {
		return err
	}
	rows, err := turn.InRoomTx(ctx, tx, conv, agent)
	if err != nil {
		return err
	}
	for _, group := range turnsOf(rows) {
		if err := turn.FinishTx(ctx, tx, group, turn.Result{Outcome: turn.Stopped, ErrorCode: "left_room"}); err != nil {
			return err
		}
		head := group[len(group)-1]
		tx.AfterCommit(func() {
			g.over(group)
			if head.Held() {
				g.reg.command(head.ExecutorID, stopGeneration(conv, "left_room"))
			}
		})
	}
	return nil
}

// SettleRoomTx ends the waiting of what was to be answered or read in a room that was
// closed, by whomever. The room is locked. A turn that runs already goes on.
func (g *Gateway) SettleRoomTx(ctx context.Context, tx *pg.Tx, conv id.Conversation) error {
	rows, err := turn.InRoomTx(ctx, tx, conv, id.Participant{})
	if err != nil {
		return err
	}
	for _, c := range rows {
		if c.Held() {
			continue
		}
		if err := turn.FinishTx(ctx, tx, []turn.Claim{c}, turn.Result{Outcome: turn.Stopped, ErrorCode: "room_closed"}); err != nil {
			return err
		}
	}
	unread, err := external.CloseTx(ctx, tx, conv, id.Participant{}, "room_closed")
	if err != nil {
		return err
	}
	if len(unread) == 0 { // no names would ask for every message
		return nil
	}
	receipts, err := view.Receipts(ctx, tx, conv, unread)
	if err != nil {
		return err
	}
	for _, r := range receipts {
		tx.Publish(event.ConversationTopic(conv.String()), ReceiptChanged{conv, r})
	}
	return nil
}

// WithdrawTx ends the waiting of a message that was deleted. The room is locked. A
// turn that runs already goes on: it may answer other messages too.
func (g *Gateway) WithdrawTx(ctx context.Context, tx *pg.Tx, msg id.Message) error {
	rows, err := turn.WaitingRowsTx(ctx, tx, msg)
	if err != nil {
		return err
	}
	for _, c := range rows {
		if err := turn.FinishTx(ctx, tx, []turn.Claim{c}, turn.Result{Outcome: turn.Stopped, ErrorCode: "withdrawn"}); err != nil {
			return err
		}
	}
	return nil
}
