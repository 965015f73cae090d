package agent

import (
	"context"
	"fmt"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// KeptSouls is how many earlier souls of an agent are kept.
const KeptSouls = 50

// A soul below this many characters may be rewritten freely.
const smallSoul = 400

// LockSoulTx reads the soul in force; the agent's row is locked from here on.
func LockSoulTx(ctx context.Context, tx *pg.Tx, aid id.Participant) (soul string, err error) {
	if err := tx.QueryRow(ctx, lockSoulSQL, aid).Scan(&soul); err != nil {
		return "", fmt.Errorf("lock soul: %w", err)
	}
	return soul, nil
}

// KeepSoulTx keeps the soul that is being replaced.
func KeepSoulTx(ctx context.Context, tx *pg.Tx, aid id.Participant, soul string, by id.Participant) error {
	if _, err := tx.Exec(ctx, keepSoulSQL, aid, soul, by); err != nil {
		return fmt.Errorf("keep soul: %w", err)
	}
	if _, err := tx.Exec(ctx, pruneSoulsSQL, aid, KeptSouls); err != nil {
		return fmt.Errorf("prune souls: %w", err)
	}
	return nil
}

// CheckShrinkTx refuses a new soul that loses more than half of what the agent was
// within the last day (row K9): soul_shrinks. It looks at the whole day, so that many
// small steps are one large one.
func CheckShrinkTx(ctx context.Context, tx *pg.Tx, aid id.Participant, now, next string) error {
	longest := 0
	if err := tx.QueryRow(ctx, longestSoulSQL, aid).Scan(&longest); err != nil {
		return fmt.Errorf("read souls: %w", err)
	}
	longest = max(longest, utf8.RuneCountInString(now))
	if n := utf8.RuneCountInString(next); longest >= smallSoul && 2*n < longest {
		return fault.Newf(fault.Conflict, "soul_shrinks",
			"This would cut the soul from %d to %d characters at once, so it was not stored. Send the whole text with your change in it; only your owner can shorten it that much.", longest, n).
			With("soul_md", "shrinks", "less than half of the text is left")
	}
	return nil
}

// EarlierSoul is a soul that the agent had before: that of an id, or the last one.
// fault.ErrNotFound when there is none.
func EarlierSoul(ctx context.Context, q pg.Querier, aid id.Participant, version int64) (soul string, err error) {
	err = q.QueryRow(ctx, soulSQL, aid, version).Scan(&soul)
	if pg.IsNotFound(err) {
		return "", fault.ErrNotFound
	}
	if err != nil {
		return "", fmt.Errorf("read earlier soul: %w", err)
	}
	return soul, nil
}
