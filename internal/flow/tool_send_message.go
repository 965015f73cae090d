package flow

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/view"
)

// sendMessage is send_message (bridge contract 5.3), for backends that have no SDK
// method for it: the ordinary message function.
func (p *PlatformTools) sendMessage() Tool {
	return Tool{
		Spec: tool.Spec{
			Definition: tool.Definition{
				Name: "send_message", ExecutorMethod: "send_message", Category: "messaging",
				Description: "Post a message in a conversation you are a member of. Your final answer of this turn is posted by itself: " +
					"use this only for another conversation, or for something to say before you are done.",
				InputSchema: json.RawMessage(`{"type":"object","properties":{` +
					`"conversation_id":{"type":"string","description":"Id of the conversation; \"current\" is the one of this turn."},` +
					`"content":{"type":"string","description":"The text, Markdown allowed."}},"required":["conversation_id","content"]}`),
			},
			DisplayName: "Send a message", Tags: []string{"messaging"}, Limits: tool.Limits{PerMinute: 120},
		},
		Handle: p.runSendMessage,
	}
}

func (p *PlatformTools) runSendMessage(ctx context.Context, c ToolCaller, args ToolArgs) (ToolResult, error) {
	room, err := args.RoomArg("conversation_id")
	if err != nil {
		return ToolResult{}, err
	}
	if err := p.mayPost(ctx, c, room); err != nil {
		return ToolResult{}, err
	}
	post := Post{ConversationID: room, Content: args.Text("content"), ContentType: "text", ClientKey: c.Key}
	if room == c.Room && !c.LastSeen.IsZero() {
		post.LastSeenMessageID = &c.LastSeen
	}
	out, err := p.Chat.Post(ctx, c.Agent, post)
	switch _, stale := IsStale(err); {
	case stale:
		return ToolResult{}, fault.New(fault.Conflict, "stale", "Newer messages have arrived in this conversation: read them before you post.")
	case err != nil:
		return ToolResult{}, err
	case out.Suppressed:
		return ToolJSON(map[string]any{"suppressed": true})
	}
	return ToolJSON(map[string]any{"id": out.Message.ID, "conversationId": room, "status": "posted"})
}

// mayPost: both may post in the room; in a direct room of the agent, into which the
// person cannot look, it is enough that they could write to the other side themselves.
func (p *PlatformTools) mayPost(ctx context.Context, c ToolCaller, room id.Conversation) error {
	role, err := chat.Role(ctx, p.DB, room, c.Agent.ID)
	if err != nil {
		return err
	}
	if err := access.PostInRoom(c.Agent, access.RoomFacts{ID: room, Role: role}); err != nil || room == c.Room {
		return err
	}
	if c.both(ctx, p.DB, room, access.PostInRoom) == nil {
		return nil
	}
	full, err := view.OneConversation(ctx, p.DB, room, id.Participant{})
	if err != nil {
		return err
	}
	if full.Type != chat.Direct || !c.Person.IsPerson() {
		return fault.ErrNotFound
	}
	for _, m := range full.Members {
		if m.ParticipantID == c.Agent.ID {
			continue
		}
		if err := mayReach(ctx, p.DB, c.Person, m.ParticipantID); err != nil {
			return err
		}
	}
	return nil
}
