package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/connection"
	"github.com/agntchat/agntchat/internal/tool"
)

// APITools are the tools over custom HTTP services.
type APITools struct{ Connections *Connections }

// List is both of them.
func (t *APITools) List() []Tool { return []Tool{t.listAPIs(), t.callAPI()} }

func hasAPIs(f tool.Facts) bool { return f.APIs > 0 }

// mayUse: a service works for its owner, or for everybody when its owner says so.
func mayUse(c ToolCaller, s connection.Connection) bool {
	return s.Shared || c.Person.ID == s.OwnerID
}

// listAPIs tells what may be called.
func (t *APITools) listAPIs() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "list_apis", Category: "integration",
				Description: "List the outside services that you may call, and what may be called there. Call one with call_api.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{}}`),
			},
			DisplayName: "List services", Tags: []string{"custom"}, Relevant: hasAPIs,
		},
		Handle: func(ctx context.Context, c ToolCaller, _ ToolArgs) (ToolResult, error) {
			all, err := connection.OfAgent(ctx, t.Connections.DB, c.Agent.ID)
			if err != nil {
				return ToolResult{}, err
			}
			list := []map[string]any{}
			for _, s := range all {
				if !mayUse(c, s) {
					continue
				}
				ops := make([]map[string]any, len(s.Operations))
				for n, o := range s.Operations {
					ops[n] = map[string]any{"method": o.Method, "path": o.Path, "description": o.Description, "asks": o.Ask}
				}
				list = append(list, map[string]any{"api": s.Name, "description": s.Description, "operations": ops})
			}
			return ToolJSON(map[string]any{"apis": list})
		},
	}
}
