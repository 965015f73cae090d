package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// MarkRead moves the caller's read mark to upTo, or with a zero one to the newest
// message. When everything is read it tells the caller's devices, also when it was
// read already: another device may be behind. A message that arrived after upTo
// stays unread.
func (c *Chat) MarkRead(ctx context.Context, actor access.Actor, conv id.Conversation, upTo id.Message) error {
	return c.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if _, err := c.Readable(ctx, tx, actor, conv); err != nil {
			return err
		}
		all, err := chat.MarkReadTx(ctx, tx, conv, actor.ID, upTo)
		if err != nil || !all {
			return err
		}
		tx.Publish(lane(conv), ConversationRead{inRoom: inRoom{conv}, Participant: actor.ID})
		return nil
	})
}
