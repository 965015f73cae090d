package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/tool"
)

// getContext is get_context (bridge contract 5.3).
func (t *MemoryTools) getContext() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "get_context", ExecutorMethod: "get_context", Category: "memory",
				Description: "Read what is known about a conversation: its memory (tier 0), also the last ten messages (tier 1), or also more of the history (tier 2). Oldest first.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"conversation_id":{"type":"string","description":"Id of the conversation; \"current\" is the one of this turn."},` +
					`"tier":{"type":"integer","minimum":0,"maximum":2,"default":1}},"required":["conversation_id"]}`),
			},
			DisplayName: "Read the context of a room", Tags: []string{"memory"},
		},
		Handle: t.runGetContext,
		Risky:  carries(t.Memories.DB, named),
	}
}

// historyOfTool is how many messages tier 2 gives to a model: what fits into a result.
const historyOfTool = 50

func (t *MemoryTools) runGetContext(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	conv, err := args.RoomArg("conversation_id")
	if err != nil {
		return ToolResult{}, err
	}
	if err := c.MayRead(ctx, t.Memories.DB, conv); err != nil {
		return ToolResult{}, err
	}
	tier := args.Int("tier", TierRecent)
	known, err := t.Memories.Context(ctx, c.Agent, conv, tier, nil, historyOfTool)
	if err != nil {
		return ToolResult{}, err
	}
	list := make([]map[string]any, len(known.Messages))
	for n, m := range known.Messages {
		list[n] = toolMessage(m)
	}
	return toolRoomMemory(known.Memory, map[string]any{"conversationId": conv, "tier": tier, "messages": list, "hasMore": known.More})
}
