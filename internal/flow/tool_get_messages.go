package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// getMessages is get_messages (bridge contract 5.3).
func (p *PlatformTools) getMessages() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "get_messages", ExecutorMethod: "get_messages", Category: "messaging",
				Description: "Read the newest messages of a conversation you are a member of, newest first.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"conversation_id":{"type":"string","description":"Id of the conversation; \"current\" is the one of this turn."},` +
					`"limit":{"type":"integer","minimum":1,"maximum":100,"default":20,"description":"How many."}},"required":["conversation_id"]}`),
			},
			DisplayName: "Read messages", Tags: []string{"messaging"},
		},
		Handle: p.runGetMessages,
		Risky:  carries(p.DB, named),
	}
}

func (p *PlatformTools) runGetMessages(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	room, err := args.RoomArg("conversation_id")
	if err != nil {
		return ToolResult{}, err
	}
	if err := c.MayRead(ctx, p.DB, room); err != nil {
		return ToolResult{}, err
	}
	page, err := view.Timeline(ctx, p.DB, room, nil, args.Int("limit", defaultHistory))
	if err != nil {
		return ToolResult{}, err
	}
	list := make([]map[string]any, len(page))
	for n, m := range page {
		list[n] = toolMessage(m)
	}
	return ToolJSON(map[string]any{"messages": list})
}

// toolMessage is a message as a model reads it.
func toolMessage(m view.Message) map[string]any {
	out := map[string]any{"id": m.ID, "senderName": m.SenderName, "senderType": m.SenderKind, "content": m.Content,
		"contentType": m.ContentType, "messageType": m.MessageType, "insertedAt": wire.At(m.InsertedAt)}
	if len(m.Attachments) > 0 { // read_attachment takes their ids
		out["attachments"] = m.Attachments
	}
	return out
}
