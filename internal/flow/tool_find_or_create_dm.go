package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/tool"
)

// findOrCreateDM is find_or_create_dm (bridge contract 5.3), for one peer.
func (p *PlatformTools) findOrCreateDM() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "find_or_create_dm", ExecutorMethod: "find_or_create_dm", Category: "messaging",
				Description: "Open the direct conversation with a person or an agent, and say something there if message is given. Find ids with find_contacts.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"peer_id":{"type":"string","description":"Id of the person or agent."},` +
					`"message":{"type":"string","maxLength":100000,"description":"What to say there."}},"required":["peer_id"]}`),
			},
			DisplayName: "Open a direct conversation", Tags: []string{"messaging"}, Limits: tool.Limits{PerMinute: 20},
		},
		Handle: p.runFindOrCreateDM,
	}
}

func (p *PlatformTools) runFindOrCreateDM(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	peer, err := id.Parse[id.Participant](args.Text("peer_id"))
	if err != nil {
		return ToolResult{}, fault.ErrNotFound
	}
	if err := mayReach(ctx, p.DB, c.Person, peer); err != nil {
		return ToolResult{}, err
	}
	room, err := p.Chat.Direct(ctx, c.Agent, peer, args.Text("message"))
	if err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(map[string]any{"id": room.ID, "type": room.Type, "said": args.Text("message") != ""})
}
