package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/pg"
)

// pruneBatch bounds one transaction of PruneChanges.
const pruneBatch = 5000

// PruneChanges forgets changes of rooms that are older than days, in short
// transactions, until none is left or ctx ends.
func (c *Chat) PruneChanges(ctx context.Context, days int) error {
	for {
		var n int64
		err := c.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) (err error) {
			n, err = chat.PruneChangesTx(ctx, tx, days, pruneBatch)
			return err
		})
		if err != nil || n < pruneBatch {
			return err
		}
	}
}
