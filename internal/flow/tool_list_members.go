package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/view"
)

// listMembers tells who sits in a room.
func (p *PlatformTools) listMembers() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "list_members", Category: "messaging",
				Description: "List the people and agents of a conversation, with their roles and what the agents are for.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"conversation_id":{"type":"string","description":"Id of the conversation; \"current\" is the one of this turn."}},"required":["conversation_id"]}`),
			},
			DisplayName: "List members", Tags: []string{"messaging"},
		},
		Handle: p.runListMembers,
	}
}

// mostListed bounds the members that one call tells.
const mostListed = 300

func (p *PlatformTools) runListMembers(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	room, err := args.RoomArg("conversation_id")
	if err != nil {
		return ToolResult{}, err
	}
	if err := c.MayRead(ctx, p.DB, room); err != nil {
		return ToolResult{}, err
	}
	members, err := view.MembersOf(ctx, p.DB, room)
	if err != nil {
		return ToolResult{}, err
	}
	list := []map[string]any{}
	for _, m := range members[:min(len(members), mostListed)] {
		one := map[string]any{"id": m.ParticipantID, "type": m.Kind, "displayName": m.DisplayName, "role": m.Role}
		if m.IsAgent() {
			one["description"], one["online"] = m.Description, p.Gateway.Online(m.ParticipantID)
		}
		list = append(list, one)
	}
	return ToolJSON(map[string]any{"members": list, "count": len(members)})
}
