package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/tool"
)

// getContextBrief is get_context_brief (bridge contract 5.3).
func (t *MemoryTools) getContextBrief() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "get_context_brief", ExecutorMethod: "get_context_brief", Category: "memory",
				Description: "Get a conversation in brief: who is in it, its memory, its open tasks and the newest messages.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"conversation_id":{"type":"string","description":"Id of the conversation; \"current\" is the one of this turn."}},"required":["conversation_id"]}`),
			},
			DisplayName: "A room in brief", Tags: []string{"memory"},
		},
		Handle: t.runGetContextBrief,
		Risky:  carries(t.Memories.DB, named),
	}
}

func (t *MemoryTools) runGetContextBrief(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	conv, err := args.RoomArg("conversation_id")
	if err != nil {
		return ToolResult{}, err
	}
	if err := c.MayRead(ctx, t.Memories.DB, conv); err != nil {
		return ToolResult{}, err
	}
	b, err := t.Memories.Brief(ctx, c.Agent, conv)
	if err != nil {
		return ToolResult{}, err
	}
	people := make([]map[string]any, len(b.Room.Members))
	for n, m := range b.Room.Members {
		people[n] = map[string]any{"id": m.ParticipantID, "name": m.DisplayName, "type": m.Kind, "role": m.Role}
	}
	tasks := make([]map[string]any, len(b.Tasks))
	for n, k := range b.Tasks {
		tasks[n] = map[string]any{"id": k.ID, "title": k.Title, "status": k.Status, "assignedTo": k.AssignedTo}
	}
	latest := make([]map[string]any, len(b.Latest))
	for n, m := range b.Latest {
		latest[n] = toolMessage(m)
	}
	return toolRoomMemory(b.Memory, map[string]any{
		"conversationId": conv, "title": b.Room.Title, "type": b.Room.Type, "participants": people, "openTasks": tasks, "latestMessages": latest,
	})
}
