package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// MarkRead moves the caller's read mark to the newest message and tells the
// caller's devices, also when it was there already: another device may be behind.
func (c *Chat) MarkRead(ctx context.Context, actor access.Actor, conv id.Conversation) error {
	return c.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if _, err := c.Readable(ctx, tx, actor, conv); err != nil {
			return err
		}
		if _, err := chat.MarkReadTx(ctx, tx, conv, actor.ID); err != nil {
			return err
		}
		tx.Publish(lane(conv), ConversationRead{inRoom: inRoom{conv}, Participant: actor.ID})
		return nil
	})
}
