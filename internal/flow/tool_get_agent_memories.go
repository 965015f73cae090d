package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/tool"
)

// getAgentMemories is get_agent_memories (bridge contract 5.3).
func (t *MemoryTools) getAgentMemories() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "get_agent_memories", ExecutorMethod: "get_agent_memories", Category: "memory",
				Description: "List what you remember, the newest first: of a category, or with these words in it.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"category":{"type":["string","null"],"enum":["fact","preference","learning","relationship","skill",null]},` +
					`"q":{"type":["string","null"],"maxLength":500,"description":"Words that all must be in it."},` +
					`"limit":{"type":"integer","minimum":1,"maximum":200,"default":50}}}`),
			},
			DisplayName: "Read own memories", Tags: []string{"memory"},
		},
		Handle: func(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
			list, err := memory.List(ctx, t.Memories.DB, c.Agent.ID, recall(c, memory.Filter{Category: args.Text("category"), Text: args.Text("q"), Limit: args.Int("limit", MemoryPage)}))
			if err != nil {
				return ToolResult{}, err
			}
			return toolMemories(c, "memories", list)
		},
	}
}
