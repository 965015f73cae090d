package present

import (
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// Turns is a page of finished turns; more tells that older ones exist.
func Turns(ts []view.FinishedTurn, more bool) wire.Turns {
	out := wire.Turns{Turns: make([]wire.Turn, len(ts)), HasMore: more}
	for n, t := range ts {
		out.Turns[n] = wire.Turn{
			ID: t.ID.String(), ConversationID: t.ConversationID.String(), MessageID: t.MessageID.String(), AnswerID: idOrNil(t.AnswerID), Outcome: t.Outcome,
			ErrorCode: t.ErrorCode, ErrorMessage: t.ErrorMessage, QueuedAt: wire.At(t.QueuedAt), StartedAt: wire.AtOrNil(t.StartedAt), EndedAt: wire.At(t.EndedAt),
			DurationMS: t.DurationMS, Model: t.Model, Backend: t.Backend, InputTokens: t.InputTokens, OutputTokens: t.OutputTokens,
			CacheReadTokens: t.CacheReadTokens, ToolCalls: t.ToolCalls,
		}
	}
	return out
}
