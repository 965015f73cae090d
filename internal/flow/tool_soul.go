package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/agent"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/view"
)

// SoulTemplate is the form in which a soul is best written (bridge contract 3.5).
const SoulTemplate = `## Who I am

## How I speak

## What I am good at

## How I work

## What I never do
`

// readSoul is read_soul (bridge contract 5.3).
func (p *PlatformTools) readSoul() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "read_soul", ExecutorMethod: "read_soul", Category: "identity",
				Description: "Read your soul: the text that says who you are.", InputSchema: json.RawMessage(`{"type":"object","properties":{}}`),
			},
			DisplayName: "Read the soul", Tags: []string{"identity"},
		},
		Handle: func(ctx context.Context, c ToolCaller, _ ToolArgs) (ToolResult, error) {
			a, err := view.OneAgent(ctx, p.DB, c.Agent.ID)
			if err != nil {
				return ToolResult{}, err
			}
			return ToolJSON(map[string]any{"soulMd": a.SoulMD})
		},
	}
}

// getSoulTemplate is get_soul_template (bridge contract 5.3).
func (p *PlatformTools) getSoulTemplate() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "get_soul_template", ExecutorMethod: "get_soul_template", Category: "identity",
				Description: "Get the headings in which a soul is best written.", InputSchema: json.RawMessage(`{"type":"object","properties":{}}`),
			},
			DisplayName: "Template of a soul", Tags: []string{"identity"},
		},
		Handle: func(context.Context, ToolCaller, ToolArgs) (ToolResult, error) {
			return ToolJSON(map[string]any{"template": SoulTemplate})
		},
	}
}

// updateSoul is update_soul (bridge contract 5.3). Who an agent is, only its owner
// may have changed; and never on the word of a page.
func (p *PlatformTools) updateSoul() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "update_soul", ExecutorMethod: "update_soul", Category: "identity",
				Description: "Rewrite your soul: the whole text that says who you are, in Markdown. Only when your owner wants it.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{"soul_md":{"type":"string","minLength":1,"maxLength":100000,"description":"The whole new text."}},"required":["soul_md"]}`),
			},
			DisplayName: "Rewrite the soul", Tags: []string{"identity"}, Risk: tool.High, Limits: tool.Limits{PerMinute: 6, Args: 512 << 10},
		},
		Handle: func(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
			if c.Person.ID != c.Agent.OwnerID {
				return ToolResult{}, fault.New(fault.Forbidden, "forbidden", "Only your owner may have your soul changed.")
			}
			_, err := p.Identity.EditAgent(ctx, c.Agent, c.Agent.ID, true, AgentPatch{Patch: agent.Patch{SoulMD: new(args.Text("soul_md"))}})
			if err != nil {
				return ToolResult{}, err
			}
			return ToolJSON(map[string]any{"status": "updated"})
		},
	}
}
