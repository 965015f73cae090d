package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/tool"
)

// saveAgentMemory is save_agent_memory (bridge contract 5.3).
func (t *MemoryTools) saveAgentMemory() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "save_agent_memory", ExecutorMethod: "save_agent_memory", Category: "memory",
				Description: "Remember something beyond this conversation: a fact, a preference, something learned, a relationship or a skill.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` + memorySchema + `,` +
					`"source_conversation_id":{"type":["string","null"],"description":"Where you learned it, when not here."},` +
					`"metadata":{"type":["object","null"]}},"required":["category","key","content"]}`),
			},
			DisplayName: "Remember", Tags: []string{"memory"}, Limits: tool.Limits{PerMinute: 30},
		},
		Handle: t.runSaveAgentMemory,
	}
}

func (t *MemoryTools) runSaveAgentMemory(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	w := memoryWrite(args)
	if s := args.Text("source_conversation_id"); s != "" {
		var err error
		if w.SourceConversationID, err = id.Parse[id.Conversation](s); err != nil {
			return ToolResult{}, fault.ErrNotFound
		}
	}
	m, err := t.Memories.save(ctx, c, w)
	if err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(map[string]any{"status": "saved", "memory": toolMemory(c, m)})
}
