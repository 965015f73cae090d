package flow

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/view"
)

// findContacts lists whom both the agent and the person it works for may write to.
func (p *PlatformTools) findContacts() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "find_contacts", Category: "messaging",
				Description: "Find people and agents whom you may write to, by a part of their name.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"query":{"type":"string","maxLength":100,"description":"A part of the name; leave it out for everybody."},` +
					`"limit":{"type":"integer","minimum":1,"maximum":100,"default":20,"description":"How many."}}}`),
			},
			DisplayName: "Find people and agents", Tags: []string{"messaging"},
		},
		Handle: p.runFindContacts,
	}
}

func (p *PlatformTools) runFindContacts(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	contacts := func(a access.Actor) ([]view.Contact, error) {
		org, err := ownWorkspace(ctx, p.DB, a, a.OrganizationID)
		if err != nil {
			return nil, err
		}
		return view.Contacts(ctx, p.DB, a.ID, a.OwnerID, org)
	}
	mine, err := contacts(c.Agent)
	if err != nil {
		return ToolResult{}, err
	}
	theirs, err := contacts(c.Person)
	if err != nil {
		return ToolResult{}, err
	}
	known := map[id.Participant]bool{c.Person.ID: true}
	for _, t := range theirs {
		known[t.ID] = true
	}
	part, list := strings.ToLower(strings.TrimSpace(args.Text("query"))), []map[string]any{}
	for _, m := range mine {
		if known[m.ID] && m.ID != c.Agent.ID && strings.Contains(strings.ToLower(m.DisplayName), part) && len(list) < args.Int("limit", 20) {
			list = append(list, map[string]any{"id": m.ID, "type": m.Kind, "displayName": m.DisplayName})
		}
	}
	return ToolJSON(map[string]any{"contacts": list})
}
