package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/turn"
)

// Touch is a sign of life of the agent's turn in a room (a stream frame): it marks
// the claim seen and extends it. A bridge of ours names the row and its
// generation; when that claim is lost the error is turn.ErrLost (403
// executor_not_owned). Without a name and without a claim it does nothing. A turn
// that streams writes at most one sign in signEvery.
func (g *Gateway) Touch(ctx context.Context, agent id.Participant, conv id.Conversation, queueID *id.QueueItem, generation *int64) error {
	key := signKey{agent, conv}
	if g.signs.fresh(key, queueID, generation) {
		return nil
	}
	return g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		group, err := openTurnTx(ctx, tx, agent, conv, queueID)
		if err != nil {
			return err
		}
		if len(group) == 0 {
			if queueID != nil {
				return turn.ErrLost
			}
			return nil
		}
		head := group[len(group)-1]
		if generation != nil && *generation != head.Generation {
			return turn.ErrLost
		}
		return g.extendTx(ctx, tx, group)
	})
}

// openTurnTx locks the rows of the turn that is named, or of the agent's one turn
// in the room.
func openTurnTx(ctx context.Context, tx *pg.Tx, agent id.Participant, conv id.Conversation, queueID *id.QueueItem) ([]turn.Claim, error) {
	if queueID == nil {
		return turn.LockOpenGroupTx(ctx, tx, agent, conv)
	}
	group, err := turn.LockGroupTx(ctx, tx, *queueID)
	if err != nil || len(group) == 0 {
		return nil, err
	}
	if head := group[len(group)-1]; head.AgentID != agent || head.ConversationID != conv {
		return nil, nil
	}
	return group, nil
}

// extendTx renews a locked turn. The first sign is shown to people.
func (g *Gateway) extendTx(ctx context.Context, tx *pg.Tx, group []turn.Claim) error {
	head := group[len(group)-1]
	if err := g.queue.ExtendTx(ctx, tx, head.ExecutorID, group); err != nil {
		return err
	}
	first := head.SeenAt == nil
	if first {
		if err := publishReceiptsTx(ctx, tx, group); err != nil {
			return err
		}
	}
	tx.AfterCommit(func() {
		g.signs.put(signKey{head.AgentID, head.ConversationID}, head.QueueID, head.Generation)
		if first {
			g.tell.wake(head.AgentID)
		}
	})
	return nil
}
