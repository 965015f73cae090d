package flow

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

// Keys of a message's metadata by which people see how it stands (desktop 5.2).
const (
	metaAwaiting    = "awaiting_agent"
	metaNotAnswered = "not_answered"
)

// lockTurnTx locks the room and then the rows of the turn that q belongs to, in
// that order (room before queue row). It is empty when q is not claimed or gone;
// waiting tells that the row exists. Further reads under the locks go in the same
// round trip.
func lockTurnTx(ctx context.Context, tx *pg.Tx, agent id.Participant, q id.QueueItem, further ...func(*pg.Batch)) (group []turn.Claim, waiting bool, err error) {
	row, err := turn.Get(ctx, tx, q)
	if err != nil || row == nil || row.AgentID != agent {
		return nil, false, err
	}
	var b pg.Batch
	var room chat.Room
	chat.AddLock(&b, row.ConversationID, &room, new(bool)) // a room that is gone needs no lock
	turn.AddLockGroup(&b, q, &group)
	for _, add := range further {
		add(&b)
	}
	if err := pg.Run(ctx, tx, &b); err != nil {
		return nil, false, fmt.Errorf("lock turn: %w", err)
	}
	if len(group) > 0 {
		return group, false, nil
	}
	row, err = turn.LockTx(ctx, tx, q)
	return nil, row != nil, err
}

// finishTx ends a turn whose room and rows are locked: rows become turns, people
// see how their messages stand, and the slot is free for the next claim.
func (g *Gateway) finishTx(ctx context.Context, tx *pg.Tx, group []turn.Claim, r turn.Result) error {
	var b pg.Batch
	var s stamps
	var receipts []view.Receipt
	turn.AddFinish(&b, group, r)
	s.read(&b, group, r)
	addReceipts(&b, group, &receipts)
	if err := pg.Run(ctx, tx, &b); err != nil {
		return fmt.Errorf("finish turn: %w", err)
	}
	if err := g.stampTx(ctx, tx, group, r, s); err != nil {
		return err
	}
	publishReceipts(tx, group, receipts)
	tx.AfterCommit(func() {
		g.observe(group[len(group)-1], r)
		g.over(group)
	})
	return nil
}

func (g *Gateway) observe(head turn.Claim, r turn.Result) {
	if g.Finished == nil {
		return
	}
	var waited, ran time.Duration
	if head.ClaimedAt != nil {
		waited, ran = head.ClaimedAt.Sub(head.QueuedAt), time.Since(*head.ClaimedAt)
	}
	g.Finished(string(r.Outcome), waited, ran)
}

// over drops what memory holds of a turn that ended or went back, and looks for
// the next one.
func (g *Gateway) over(group []turn.Claim) {
	g.ended(group)
	g.Wake(group[0].AgentID)
}

func (g *Gateway) ended(group []turn.Claim) {
	head := group[len(group)-1]
	g.signs.drop(signKey{head.AgentID, head.ConversationID})
	for _, c := range group {
		g.reg.forget(c.ExecutorID, c.QueueID)
	}
	g.tell.wake(head.AgentID)
}

// stamps is what stampTx needs to know.
type stamps struct {
	marks []view.Marks
	name  string // of the agent, where its name is shown
}

func (s *stamps) read(b *pg.Batch, group []turn.Claim, r turn.Result) {
	view.AddMarks(b, messagesOf(group), &s.marks)
	if notAnsweredReason(r) != "" {
		view.AddAgentName(b, group[0].AgentID, &s.name)
	}
}

func messagesOf(group []turn.Claim) []id.Message {
	ids := make([]id.Message, len(group))
	for n, c := range group {
		ids[n] = c.MessageID
	}
	return ids
}

// stampTx shows on messages of people that they were not answered, and takes
// away that they wait. A failure that was told in the room needs no mark.
func (g *Gateway) stampTx(ctx context.Context, tx *pg.Tx, group []turn.Claim, r turn.Result, s stamps) error {
	for _, mid := range messagesOf(group) {
		at := slices.IndexFunc(s.marks, func(m view.Marks) bool { return m.ID == mid })
		if at < 0 || s.marks[at].SenderKind != chat.Human {
			continue
		}
		m := s.marks[at]
		set := map[string]any{}
		if waitsFor(m.Metadata) == group[0].AgentID.String() {
			set[metaAwaiting] = nil
		}
		if reason := notAnsweredReason(r); reason != "" {
			set[metaNotAnswered] = notAnswered(m.Metadata, reason, s.name, r)
		}
		if len(set) == 0 {
			continue
		}
		if err := g.patchTx(ctx, tx, m.ConversationID, mid, set); err != nil {
			return err
		}
	}
	return nil
}

// patchTx writes metadata; a room or message that is gone needs none.
func (g *Gateway) patchTx(ctx context.Context, tx *pg.Tx, conv id.Conversation, mid id.Message, set map[string]any) error {
	if err := g.Rooms.PatchMetadataTx(ctx, tx, conv, mid, set); err != nil && fault.KindOf(err) != fault.NotFound {
		return err
	}
	return nil
}

// notAnsweredReason is the contract's word; the details stand in code.
func notAnsweredReason(r turn.Result) string {
	switch {
	case r.Outcome == turn.Stopped:
		return "stopped"
	case r.Outcome == turn.Unanswered, r.Outcome == turn.Expired, r.Outcome == turn.Failed && r.AnswerID.IsZero():
		return "expired"
	default:
		return ""
	}
}

// notAnswered adds the agent to those who did not answer this message.
func notAnswered(meta json.RawMessage, reason, agent string, r turn.Result) map[string]any {
	var have []string
	_ = json.Unmarshal(keyOf(keyOf(meta, metaNotAnswered), "agents"), &have) // a foreign shape is replaced
	if !slices.Contains(have, agent) {
		have = append(have, agent)
	}
	code := string(r.Outcome)
	if r.ErrorCode != "" {
		code = r.ErrorCode
	}
	return map[string]any{"reason": reason, "agents": have, "at": time.Now().UTC().Format(time.RFC3339), "code": code}
}

func waitsFor(meta json.RawMessage) string { return stringKey(keyOf(meta, metaAwaiting), "agent_id") }

// awaitTx shows that a person's message waits for an agent that is not here.
func (g *Gateway) awaitTx(ctx context.Context, tx *pg.Tx, conv id.Conversation, mid id.Message, agent id.Participant) error {
	m, err := view.OneMessage(ctx, tx, mid)
	if err != nil || m.SenderKind != chat.Human {
		return goneIsNil(err)
	}
	a, err := view.OneAgent(ctx, tx, agent)
	if err != nil {
		return goneIsNil(err)
	}
	return g.patchTx(ctx, tx, conv, mid, map[string]any{metaAwaiting: map[string]any{"agent_id": agent.String(), "agent_name": a.DisplayName}})
}

// notAwaiting takes the mark away once the turn is on its way. It is best effort:
// the end of the turn takes it away too.
func (g *Gateway) notAwaiting(ctx context.Context, d Delivery) {
	msgs := []view.Message{d.Message}
	for _, m := range d.Merged {
		msgs = append(msgs, m.Message)
	}
	for _, m := range msgs {
		if waitsFor(m.Metadata) != d.Claim.AgentID.String() {
			continue
		}
		err := g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
			return g.patchTx(ctx, tx, m.ConversationID, m.ID, map[string]any{metaAwaiting: nil})
		})
		if err != nil {
			g.complain(ctx, "clear mark failed", err, d.Claim.AgentID)
		}
	}
}

// endTurn ends a turn that never reached its bridge.
func (g *Gateway) endTurn(ctx context.Context, head turn.Claim, r turn.Result) error {
	return g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		group, _, err := lockTurnTx(ctx, tx, head.AgentID, head.QueueID)
		if err != nil || len(group) == 0 || group[len(group)-1].Generation != head.Generation {
			return err
		}
		return g.finishTx(ctx, tx, group, r)
	})
}
