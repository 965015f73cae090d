package letter

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/pg"
)

// APIKey admits clients to a closed relay. Hash is the hex SHA-256 of the key,
// which is nowhere kept; Created is in Unix seconds.
type APIKey struct {
	Hash, Label string
	Created     float64
	Disabled    bool
}

// KeyAllowed reports whether a key of this hash exists and is enabled.
func (o *Office) KeyAllowed(ctx context.Context, hash string) (ok bool, err error) {
	err = o.DB.QueryRow(ctx, sqlKeyAllowed, hash).Scan(&ok)
	return ok, err
}

// AddAPIKey keeps a new key.
func (o *Office) AddAPIKey(ctx context.Context, hash, label string, now time.Time) error {
	return o.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		_, err := tx.Exec(ctx, sqlAddAPIKey, hash, label, unix(now))
		return err
	})
}

// APIKeys lists the keys, the oldest first, at most 10,000.
func (o *Office) APIKeys(ctx context.Context) ([]APIKey, error) {
	rows, err := o.DB.Query(ctx, sqlAPIKeys)
	if err != nil {
		return nil, fmt.Errorf("list API keys: %w", err)
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (k APIKey, err error) {
		err = r.Scan(&k.Hash, &k.Label, &k.Created, &k.Disabled)
		return k, err
	})
}

// SetDisabled turns a key off or on and tells how many rows that were: 0 or 1.
func (o *Office) SetDisabled(ctx context.Context, hash string, disabled bool) (int, error) {
	return o.change(ctx, sqlSetDisabled, hash, disabled)
}

// DropAPIKey deletes a key and tells how many rows that were: 0 or 1.
func (o *Office) DropAPIKey(ctx context.Context, hash string) (int, error) {
	return o.change(ctx, sqlDropAPIKey, hash)
}

func (o *Office) change(ctx context.Context, sql string, args ...any) (n int, err error) {
	err = o.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		tag, err := tx.Exec(ctx, sql, args...)
		n = int(tag.RowsAffected())
		return err
	})
	return n, err
}
