package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
)

// Direct finds or makes the direct room of the actor and somebody they may write
// to, and posts a first text when there is one (bridge contract 3.3).
func (c *Chat) Direct(ctx context.Context, actor access.Actor, peer id.Participant, text string) (view.Conversation, error) {
	room, _, err := c.CreateConversation(ctx, actor, NewConversation{Type: chat.Direct, MemberIDs: []id.Participant{peer}})
	if err != nil || text == "" {
		return room, err
	}
	if _, err := c.Post(ctx, actor, Post{ConversationID: room.ID, Content: text}); err != nil {
		return room, err
	}
	return view.OneConversation(ctx, c.DB, room.ID, actor.ID)
}
