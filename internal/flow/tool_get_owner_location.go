package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/wire"
)

// getOwnerLocation is get_owner_location (bridge contract 5.3). Where a person is, only
// they themselves may have their agent tell.
func (p *PlatformTools) getOwnerLocation() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "get_owner_location", ExecutorMethod: "get_owner_location", Category: "identity",
				Description: "Get where your owner is, if they share it with you.", InputSchema: json.RawMessage(`{"type":"object","properties":{}}`),
			},
			DisplayName: "Location of the owner", Tags: []string{"identity"},
		},
		Handle: func(ctx context.Context, c ToolCaller, _ ToolArgs) (ToolResult, error) {
			if c.Person.ID != c.Agent.OwnerID {
				return ToolResult{}, fault.New(fault.Forbidden, "forbidden", "Only for your owner you may ask where they are.")
			}
			l, err := p.Identity.OwnerLocation(ctx, c.Agent)
			if err != nil {
				return ToolResult{}, err
			}
			return ToolJSON(map[string]any{"location": wire.Location{Latitude: l.Latitude, Longitude: l.Longitude, Accuracy: l.Accuracy, Timestamp: wire.At(l.Timestamp)}})
		},
	}
}
