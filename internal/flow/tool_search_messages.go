package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/view"
)

// searchMessages looks for words in one room.
func (p *PlatformTools) searchMessages() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "search_messages", Category: "messaging",
				Description: "Find messages of a conversation that contain these words, newest first. It looks through the newest 20000.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"query":{"type":"string","minLength":2,"maxLength":200,"description":"The words, as they stand there."},` +
					`"conversation_id":{"type":"string","description":"Id of the conversation; \"current\" is the one of this turn."},` +
					`"limit":{"type":"integer","minimum":1,"maximum":50,"default":20,"description":"How many."}},"required":["query","conversation_id"]}`),
			},
			DisplayName: "Search messages", Tags: []string{"messaging"}, Limits: tool.Limits{PerMinute: 30},
		},
		Handle: p.runSearchMessages,
		Risky:  carries(p.DB, named),
	}
}

func (p *PlatformTools) runSearchMessages(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	room, err := args.RoomArg("conversation_id")
	if err != nil {
		return ToolResult{}, err
	}
	if err := c.MayRead(ctx, p.DB, room); err != nil {
		return ToolResult{}, err
	}
	found, err := view.SearchRoom(ctx, p.DB, room, args.Text("query"), args.Int("limit", 20))
	if err != nil {
		return ToolResult{}, err
	}
	list := make([]map[string]any, len(found))
	for n, m := range found {
		list[n] = toolMessage(m)
	}
	return ToolJSON(map[string]any{"messages": list})
}
