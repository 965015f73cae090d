package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/tool"
)

// getFamilyMemories is get_family_memories (bridge contract 5.3).
func (t *MemoryTools) getFamilyMemories() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "get_family_memories", ExecutorMethod: "get_family_memories", Category: "memory",
				Description: "List what all agents of your owner remember together, the newest first.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"category":{"type":["string","null"],"enum":["fact","preference","learning","relationship","skill",null]},` +
					`"q":{"type":["string","null"],"maxLength":500,"description":"Words that all must be in it."},` +
					`"tag":{"type":["string","null"],"maxLength":50},"limit":{"type":"integer","minimum":1,"maximum":200,"default":50}}}`),
			},
			DisplayName: "Read shared memories", Tags: []string{"memory"},
		},
		Handle: t.runGetFamilyMemories,
	}
}

func (t *MemoryTools) runGetFamilyMemories(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	f, err := t.familyFilter(ctx, c, memory.Filter{Category: args.Text("category"), Text: args.Text("q"), Tag: args.Text("tag"), Limit: args.Int("limit", MemoryPage)})
	if err != nil {
		return ToolResult{}, err
	}
	list, err := memory.ListFamily(ctx, t.Memories.DB, c.Agent.OwnerID, f)
	if err != nil {
		return ToolResult{}, err
	}
	return toolMemories(c, "memories", list)
}

// familyFilter adds who asks, and the workspace in which the agent works.
func (t *MemoryTools) familyFilter(ctx context.Context, c ToolCaller, f memory.Filter) (memory.Filter, error) {
	f = recall(c, f)
	f.Workspace = c.Agent.OrganizationID
	if c.Room.IsZero() {
		return f, nil
	}
	room, err := chat.Get(ctx, t.Memories.DB, c.Room)
	if err != nil {
		return f, goneIsNil(err)
	}
	f.Workspace = room.OrganizationID
	return f, nil
}
