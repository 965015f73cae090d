package letter

import (
	"context"
	"fmt"
	"time"

	"github.com/agntchat/agntchat/internal/pg"
)

const (
	sweepBatch = 1000
	claimedTTL = 30 * 24 * time.Hour // of a claimed one-time key
)

// Sweep deletes what is over, in short transactions. Nothing depends on when it
// runs: what is over is never used, swept or not. It tells how many letters went.
func (o *Office) Sweep(ctx context.Context, now time.Time) (letters int, err error) {
	type sweep struct {
		name, sql string
		before    any
		on        bool
	}
	l := o.Limits
	for _, s := range []sweep{
		{"nonces", sqlSweepNonces, now.Add(-nonceRetention), true},
		{"letters", sqlSweepLetters, unix(since(now, l.LetterTTL)), l.LetterTTL > 0},
		{"refusals", sqlSweepRefusals, since(now, l.RefusedTTL), l.RefusedTTL > 0},
		{"claimed keys", sqlSweepKeys, now.Add(-claimedTTL), true},
		{"mailboxes", sqlSweepMailboxes, since(now, l.MailboxTTL).UTC(), l.MailboxTTL > 0},
	} {
		for more := s.on; more; {
			var n int
			err := o.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
				tag, err := tx.Exec(ctx, s.sql, s.before, sweepBatch)
				n = int(tag.RowsAffected())
				return err
			})
			if err != nil {
				return letters, fmt.Errorf("sweep %s: %w", s.name, err)
			}
			if s.name == "letters" {
				letters += n
			}
			more = n == sweepBatch
		}
	}
	return letters, nil
}
