package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/view"
)

// getProfile is get_profile (bridge contract 5.3).
func (p *PlatformTools) getProfile() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "get_profile", ExecutorMethod: "get_profile", Category: "identity",
				Description: "Read your own profile: name, role, owner, settings.", InputSchema: json.RawMessage(`{"type":"object","properties":{}}`),
			},
			DisplayName: "Own profile", Tags: []string{"identity"},
		},
		Handle: p.runGetProfile,
	}
}

func (p *PlatformTools) runGetProfile(ctx context.Context, c ToolCaller, _ ToolArgs) (ToolResult, error) {
	a, err := view.OneAgent(ctx, p.DB, c.Agent.ID)
	if err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(map[string]any{"id": a.ID, "displayName": a.DisplayName, "description": a.Description, "agentType": a.AgentType,
		"ownerId": a.OwnerID, "capabilities": a.Capabilities, "settings": a.Settings, "soulMd": a.SoulMD})
}
