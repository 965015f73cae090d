package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
)

// DeleteMessage takes a message away for everybody: its author, the owner of the
// agent that wrote it, or an administrator. Its text is gone for good. Agents
// that have not begun with it are no longer asked.
func (c *Chat) DeleteMessage(ctx context.Context, actor access.Actor, conv id.Conversation, mid id.Message) error {
	return c.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		room, err := c.lock(ctx, tx, actor, conv)
		if err != nil {
			return err
		}
		b, err := chat.GetBrief(ctx, tx, mid)
		if err != nil {
			return err
		}
		if b.ConversationID != conv {
			return fault.ErrNotFound
		}
		owner, err := view.OwnerIDOf(ctx, tx, b.SenderID)
		if err != nil {
			return err
		}
		if err := access.DeleteMessage(actor, facts(room.Room, room.role), b.SenderID, owner); err != nil {
			return err
		}
		if _, err := chat.DeleteMessageTx(ctx, tx, conv, mid); err != nil {
			return err
		}
		if c.Withdraw != nil {
			if err := c.Withdraw(ctx, tx, mid); err != nil {
				return err
			}
		}
		seq, err := record(ctx, tx, conv, "message_deleted", mid.UUID(), map[string]any{"messageId": mid, "conversationId": conv})
		if err != nil {
			return err
		}
		tx.Publish(lane(conv), MessageDeleted{inRoom: inRoom{conv}, MessageID: mid, Seq: seq})
		return nil
	})
}
