package flow

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/tool"
)

// ToolCall is a call that a bridge passed through (bridge contract 3.8). The
// context keys are as the bridge sent them; any may be empty.
type ToolCall struct {
	Name                 string
	Args                 json.RawMessage
	ConversationID       string
	ActiveConversationID string
	SourceMessageID      string
	LastSeenMessageID    string
}

// room is the conversation that the call is about.
func (c ToolCall) room() (id.Conversation, bool) {
	for _, s := range []string{c.ActiveConversationID, c.ConversationID} {
		if v, err := id.Parse[id.Conversation](s); err == nil {
			return v, true
		}
	}
	return id.Conversation{}, false
}

// ToolResult is the text for the model, or a refusal. A refusal has no text: a
// bridge would take any text for success (bridge contract 5.5).
type ToolResult struct {
	Text    string
	Refused *fault.Error
}

type toolHandler func(ctx context.Context, actor access.Actor, call ToolCall) (ToolResult, error)

// toolHandlers is the one table of what is carried out here.
func (g *Gateway) toolHandlers() map[string]toolHandler {
	return map[string]toolHandler{
		tool.EndTurn:     g.toolEndTurn,
		tool.SendMessage: g.toolSendMessage,
		tool.GetMessages: g.toolGetMessages,
		tool.GetProfile:  g.toolGetProfile,
	}
}

// CallTool carries a tool call out. What the agent did wrong is a refusal that its
// model reads; an error is only what went wrong on our side.
func (g *Gateway) CallTool(ctx context.Context, actor access.Actor, call ToolCall) (ToolResult, error) {
	if err := access.RequireAgent(actor); err != nil {
		return ToolResult{}, err
	}
	h, ok := g.toolHandlers()[call.Name]
	if !ok {
		return ToolResult{Refused: fault.Newf(fault.NotFound, "unknown_tool", "Unknown tool: %s", cutText(call.Name, 100))}, nil
	}
	out, err := h(ctx, actor, call)
	switch fault.KindOf(err) {
	case fault.Invalid, fault.Forbidden, fault.NotFound, fault.Conflict, fault.Exhausted:
		if err != nil {
			return ToolResult{Refused: fault.From(err)}, nil
		}
	default:
	}
	return out, err
}

// toolArgs reads arguments; a call without any has an empty object.
func toolArgs(raw json.RawMessage, into any) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fault.New(fault.Invalid, "invalid_arguments", "The arguments do not fit the tool's schema.").Because(err)
	}
	return nil
}

func toolText(v any) (ToolResult, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return ToolResult{}, fmt.Errorf("encode tool result: %w", err)
	}
	return ToolResult{Text: string(b)}, nil
}
