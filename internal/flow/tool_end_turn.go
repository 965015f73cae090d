package flow

import (
	"context"
	"encoding/json"

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

// endTurn is end_turn (bridge contract 5.6). A silent reason marks the turn as
// passed, so that prose which still comes is not posted; it is refused while a
// person waits for an answer. The other reasons change nothing here: their text is
// posted as usual. The schema demands nothing: an unknown or missing reason is silent.
func (p *PlatformTools) endTurn() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "end_turn", Category: "conversation", AlwaysLoad: true,
				Description: "End this turn explicitly. no_action_needed: you have nothing to add and stay silent; refused when a person wrote to you. " +
					"task_complete, awaiting_input, blocked: your text is still posted.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"reason":{"type":"string","description":"Why the turn ends: no_action_needed, task_complete, awaiting_input or blocked."},` +
					`"message":{"type":"string","description":"A short note for the record; it is not posted."}}}`),
			},
			DisplayName: "End the turn", Tags: []string{"conversation"}, Essential: true,
		},
		Handle: p.runEndTurn,
	}
}

func (p *PlatformTools) runEndTurn(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	reason := args.Text("reason")
	if reason == "" {
		reason = tool.NoActionNeeded
	}
	reason = cutText(reason, 100)
	ended := map[string]any{"status": "ended", "reason": reason}
	if !tool.SilentReason(reason) || c.Room.IsZero() {
		return ToolJSON(ended)
	}
	err := p.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		group, err := openTurnTx(ctx, tx, c.Agent.ID, c.Room, nil)
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
	return ToolJSON(ended)
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
