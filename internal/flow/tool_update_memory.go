package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/tool"
)

// updateMemory is ours: PATCH …/memory as a tool.
func (t *MemoryTools) updateMemory() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "update_memory", Category: "memory",
				Description: "Change the memory of a conversation, which all its members share. Keys that are usual: summary, currentState, keyDecisions, openQuestions, completedWork, importantContext.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"conversation_id":{"type":"string","description":"Id of the conversation; \"current\" is the one of this turn."},` +
					`"changes":{"type":"object","minProperties":1,"description":"Merged into the memory: null removes a key, objects are merged, everything else is replaced."},` +
					`"reason":{"type":"string","maxLength":500}},"required":["conversation_id","changes"]}`),
			},
			DisplayName: "Write the memory of a room", Tags: []string{"memory"}, Risk: tool.High, Limits: tool.Limits{PerMinute: 20},
		},
		Handle: t.runUpdateMemory,
	}
}

func (t *MemoryTools) runUpdateMemory(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	conv, err := args.RoomArg("conversation_id")
	if err != nil {
		return ToolResult{}, err
	}
	if err := c.both(ctx, t.Memories.DB, conv, access.PostInRoom); err != nil {
		return ToolResult{}, err
	}
	room, diff, err := t.Memories.WriteRoom(ctx, c.Agent, conv, memory.RoomWrite{Changes: args.Object("changes"), Reason: args.Text("reason")})
	if err != nil {
		return ToolResult{}, err
	}
	return toolRoomMemory(room, map[string]any{"diff": diff})
}
