package flow

import (
	"context"
	"strings"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// toolRoom reads conversation_id, in which a placeholder is the room of the turn
// (bridge contract 5.2).
func toolRoom(named string, call ToolCall) (id.Conversation, error) {
	if c, err := id.Parse[id.Conversation](strings.Trim(named, "<> ")); err == nil {
		return c, nil
	}
	switch strings.Trim(named, "<>{} ") {
	case "", "current", "this", "this_conv", "this_conversation", "conversation_id", "conv_id":
		if c, ok := call.room(); ok {
			return c, nil
		}
	}
	return id.Conversation{}, fault.New(fault.Invalid, "missing_conversation_id", "Name the conversation: conversation_id is not a known id.")
}

// toolSendMessage posts by the ordinary message function, for backends that have
// no SDK method for it.
func (g *Gateway) toolSendMessage(ctx context.Context, actor access.Actor, call ToolCall) (ToolResult, error) {
	var args map[string]any
	if err := toolArgs(call.Args, &args); err != nil {
		return ToolResult{}, err
	}
	named, _ := args["conversation_id"].(string)
	content, _ := args["content"].(string)
	conv, err := toolRoom(named, call)
	if err != nil {
		return ToolResult{}, err
	}
	post := Post{ConversationID: conv, Content: content, ContentType: "text"}
	if last, err := id.Parse[id.Message](call.LastSeenMessageID); err == nil {
		post.LastSeenMessageID = &last
	}
	out, err := g.Rooms.Post(ctx, actor, post)
	switch _, stale := IsStale(err); {
	case stale:
		return ToolResult{Refused: fault.New(fault.Conflict, "stale", "Newer messages have arrived in this conversation: read them before you post.")}, nil
	case err != nil:
		return ToolResult{}, err
	case out.Suppressed:
		return toolText(map[string]any{"suppressed": true})
	}
	return toolText(map[string]any{"id": out.Message.ID, "conversationId": conv, "status": "posted"})
}

func (g *Gateway) toolGetMessages(ctx context.Context, actor access.Actor, call ToolCall) (ToolResult, error) {
	var args map[string]any
	if err := toolArgs(call.Args, &args); err != nil {
		return ToolResult{}, err
	}
	named, _ := args["conversation_id"].(string)
	conv, err := toolRoom(named, call)
	if err != nil {
		return ToolResult{}, err
	}
	limit := defaultHistory
	if n, ok := args["limit"].(float64); ok && n >= 1 {
		limit = int(min(n, mostHistory))
	}
	role, err := chat.Role(ctx, g.DB, conv, actor.ID)
	if err != nil {
		return ToolResult{}, err
	}
	if err := access.ReadRoom(actor, access.RoomFacts{ID: conv, Role: role}); err != nil {
		return ToolResult{}, err
	}
	page, err := view.Timeline(ctx, g.DB, conv, nil, limit)
	if err != nil {
		return ToolResult{}, err
	}
	list := make([]map[string]any, len(page))
	for n, m := range page {
		list[n] = map[string]any{"id": m.ID, "senderName": m.SenderName, "senderType": m.SenderKind, "content": m.Content,
			"contentType": m.ContentType, "messageType": m.MessageType, "insertedAt": wire.At(m.InsertedAt)}
	}
	return toolText(map[string]any{"messages": list})
}

func (g *Gateway) toolGetProfile(ctx context.Context, actor access.Actor, _ ToolCall) (ToolResult, error) {
	a, err := view.OneAgent(ctx, g.DB, actor.ID)
	if err != nil {
		return ToolResult{}, err
	}
	return toolText(map[string]any{"id": a.ID, "displayName": a.DisplayName, "description": a.Description, "agentType": a.AgentType,
		"ownerId": a.OwnerID, "capabilities": a.Capabilities, "settings": a.Settings, "soulMd": a.SoulMD})
}
