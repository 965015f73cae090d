package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/tool"
)

// getMemory is get_memory (bridge contract 5.3).
func (t *MemoryTools) getMemory() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "get_memory", ExecutorMethod: "get_memory", Category: "memory",
				Description: "Read the memory of a conversation: what its members found worth keeping, a JSON object.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"conversation_id":{"type":"string","description":"Id of the conversation; \"current\" is the one of this turn."}},"required":["conversation_id"]}`),
			},
			DisplayName: "Read the memory of a room", Tags: []string{"memory"},
		},
		Handle: t.runGetMemory,
		Risky:  carries(t.Memories.DB, named),
	}
}

func (t *MemoryTools) runGetMemory(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	conv, err := args.RoomArg("conversation_id")
	if err != nil {
		return ToolResult{}, err
	}
	if err := c.MayRead(ctx, t.Memories.DB, conv); err != nil {
		return ToolResult{}, err
	}
	room, err := memory.OfRoom(ctx, t.Memories.DB, conv)
	if err != nil {
		return ToolResult{}, err
	}
	return toolRoomMemory(room, map[string]any{"conversationId": conv})
}
