package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/tool"
)

// saveFamilyMemory is save-family-memory (bridge contract 5.4).
func (t *MemoryTools) saveFamilyMemory() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "save-family-memory", Category: "memory",
				Description: "Remember something for all agents of your owner, not only for yourself. Only in a turn of your owner.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` + memorySchema + `,` +
					`"scope":{"type":"string","enum":["family","workspace"],"default":"family","description":"family: everywhere; workspace: only in the workspace of this conversation."},` +
					`"metadata":{"type":["object","null"]}},"required":["category","key","content"]}`),
			},
			DisplayName: "Remember for all agents", Tags: []string{"memory"}, Risk: tool.High, Limits: tool.Limits{PerMinute: 20},
		},
		Handle: t.runSaveFamilyMemory,
	}
}

func (t *MemoryTools) runSaveFamilyMemory(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	var org id.Organization
	if args.Text("scope") == "workspace" {
		if c.Room.IsZero() {
			return ToolResult{}, fault.New(fault.Invalid, "invalid_arguments", "There is no conversation here whose workspace could be meant.")
		}
		room, err := chat.Get(ctx, t.Memories.DB, c.Room)
		if err != nil {
			return ToolResult{}, err
		}
		org = room.OrganizationID
	}
	m, err := t.Memories.saveFamily(ctx, c, org, memoryWrite(args))
	if err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(map[string]any{"status": "saved", "memory": toolMemory(c, m)})
}
