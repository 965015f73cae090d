package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/agent"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/tool"
)

// updateInputSchema is update_input_schema (bridge contract 5.3, 4.4).
func (p *PlatformTools) updateInputSchema() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "update_input_schema", ExecutorMethod: "update_input_schema", Category: "identity",
				Description: "Say which fields a task for you should fill in. It replaces what you said before. Only when your owner wants it.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{"schema_dict":{"type":"object","properties":{"fields":{"type":"array","maxItems":50,"items":{"type":"object",` +
					`"properties":{"key":{"type":"string","minLength":1,"maxLength":100},"type":{"type":"string","minLength":1,"maxLength":50},"required":{"type":"boolean"}},` +
					`"required":["key","type"]}}},"required":["fields"]}},"required":["schema_dict"]}`),
			},
			DisplayName: "Fields of a task", Tags: []string{"identity"}, Risk: tool.High, Limits: tool.Limits{PerMinute: 6, Args: 64 << 10},
		},
		Handle: p.runUpdateInputSchema,
	}
}

func (p *PlatformTools) runUpdateInputSchema(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	if c.Person.ID != c.Agent.OwnerID {
		return ToolResult{}, fault.New(fault.Forbidden, "forbidden", "Only your owner may have this changed.")
	}
	raw, err := json.Marshal(map[string]json.RawMessage{"input_schema": args.Object("schema_dict")})
	if err != nil {
		return ToolResult{}, err
	}
	a, err := p.Identity.EditAgent(ctx, c.Agent, c.Agent.ID, true, AgentPatch{Patch: agent.Patch{StructuredCapabilities: raw}})
	if err != nil {
		return ToolResult{}, err
	}
	return ToolJSON(map[string]any{"structuredCapabilities": a.StructuredCapabilities})
}
