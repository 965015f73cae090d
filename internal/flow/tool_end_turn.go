package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/directive"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

var errReplyExpected = fault.New(fault.Conflict, "reply_expected",
	"A person wrote to you and waits for an answer: reply to them instead of ending the turn silently.")

// toolEndTurn is end_turn (bridge contract 5.6). A silent reason marks the turn
// as passed, so that prose which still comes is not posted; it is refused while a
// person waits for an answer. The other reasons change nothing here: their text is
// posted as usual.
func (g *Gateway) toolEndTurn(ctx context.Context, actor access.Actor, call ToolCall) (ToolResult, error) {
	var args map[string]any
	if err := toolArgs(call.Args, &args); err != nil {
		return ToolResult{}, err
	}
	reason, _ := args["reason"].(string)
	if reason == "" {
		reason = tool.NoActionNeeded
	}
	reason = cutText(reason, 100)
	ended := map[string]any{"status": "ended", "reason": reason}
	conv, ok := call.room()
	if !tool.SilentReason(reason) || !ok {
		return toolText(ended)
	}
	err := g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		group, err := openTurnTx(ctx, tx, actor.ID, conv, nil)
		if err != nil || len(group) == 0 {
			return err
		}
		head := group[len(group)-1]
		if reason == tool.NoActionNeeded {
			if err := mayStaySilent(ctx, tx, group, head); err != nil {
				return err
			}
		}
		return turn.MarkPassedTx(ctx, tx, head.QueueID, reason)
	})
	if err != nil {
		return ToolResult{}, err
	}
	return toolText(ended)
}

// mayStaySilent refuses silence towards a person, unless the agent has spoken in
// this turn already.
func mayStaySilent(ctx context.Context, tx *pg.Tx, group []turn.Claim, head turn.Claim) error {
	ids := make([]id.Message, len(group))
	for n, c := range group {
		ids[n] = c.MessageID
	}
	msgs, err := view.MessagesByID(ctx, tx, ids)
	if err != nil {
		return err
	}
	expected := false
	for _, m := range msgs {
		expected = expected || directive.ExpectsReply(m.SenderKind)
	}
	if !expected || head.AnsweredAt != nil || head.ClaimedAt == nil {
		return nil
	}
	spoke, err := view.LatestBy(ctx, tx, head.ConversationID, head.AgentID, *head.ClaimedAt)
	if err != nil || !spoke.IsZero() {
		return err
	}
	return errReplyExpected
}
