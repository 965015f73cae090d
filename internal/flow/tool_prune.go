package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/tool"
)

// PruneCalls forgets records of tool calls that are older than days, in short
// transactions, until none is left or ctx ends.
func (t *Tools) PruneCalls(ctx context.Context, days int) error {
	for {
		var n int64
		err := t.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) (err error) {
			n, err = tool.PruneCallsTx(ctx, tx, days, pruneBatch)
			return err
		})
		if err != nil || n < pruneBatch {
			return err
		}
	}
}
