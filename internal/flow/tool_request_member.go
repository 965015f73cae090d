package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/tool"
)

// RequestMember is a tool of ours: an agent does not bring anybody into a room, it
// asks those who may. The call does not wait: the answer is a message in the room.
func RequestMember(a *Approvals) Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "request_member", Category: "messaging",
				Description: "Ask the administrators of a conversation to add a person or an agent to it. You are told in that conversation what they decided.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"conversation_id":{"type":"string","description":"Id of the conversation; \"current\" is the one of this turn."},` +
					`"participant_id":{"type":"string","description":"Whom to add: an id that find_contacts gives."},` +
					`"reason":{"type":"string","maxLength":2000,"description":"Why they are needed there."}},"required":["conversation_id","participant_id"]}`),
			},
			DisplayName: "Ask to add a member", Tags: []string{"messaging"}, Risk: tool.Low, Limits: tool.Limits{PerMinute: 6},
		},
		Handle: func(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
			room, err := args.RoomArg("conversation_id")
			if err != nil {
				return ToolResult{}, err
			}
			who, err := id.Parse[id.Participant](args.Text("participant_id"))
			if err != nil {
				return ToolResult{}, fault.New(fault.NotFound, "not_found", "You know nobody with this id.")
			}
			out, err := a.AskMember(ctx, c, room, who, args.Text("reason"))
			if err != nil {
				return ToolResult{}, err
			}
			return ToolJSON(map[string]any{"request_id": out.ID, "status": "pending", "note": "The administrators of the conversation were asked. You are told there when they answer."})
		},
	}
}
