package letter

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/pg"
)

// Key is a one-time or fallback key with the id its owner gave it.
type Key struct{ ID, Key string }

// Publication is what publish_keys brings. OneTime keeps the order of the wire;
// Fallback may be nil.
type Publication struct {
	IdentityKey, SigningKey string
	OneTime                 []Key
	Fallback                *Key
}

// Known reports whether the address has published keys.
func (o *Office) Known(ctx context.Context, address string) (known bool, err error) {
	err = o.DB.QueryRow(ctx, sqlMailboxExists, address).Scan(&known)
	return known, err
}

// Publish opens the caller's mailbox or adds keys to it, and tells how many
// one-time keys are new: a key that was published before, claimed or not, is not
// added again. ErrTooManyKeys when too many would be unclaimed.
func (o *Office) Publish(ctx context.Context, c Call, p Publication) (added int, err error) {
	err = o.do(ctx, c, func(ctx context.Context, tx *pg.Tx) error {
		var fallbackID, fallback *string
		if p.Fallback != nil {
			fallbackID, fallback = &p.Fallback.ID, &p.Fallback.Key
		}
		// The row of the mailbox is locked from here on: publications of one address follow each other.
		if _, err := tx.Exec(ctx, sqlPublish, c.Caller, p.IdentityKey, p.SigningKey, fallbackID, fallback, c.Now.UTC()); err != nil {
			return fmt.Errorf("publish mailbox: %w", err)
		}
		ids, keys := make([]string, len(p.OneTime)), make([]string, len(p.OneTime))
		for n, k := range p.OneTime {
			ids[n], keys[n] = k.ID, k.Key
		}
		tag, err := tx.Exec(ctx, sqlAddKeys, c.Caller, ids, keys)
		if err != nil {
			return fmt.Errorf("publish one-time keys: %w", err)
		}
		added = int(tag.RowsAffected())
		if added == 0 || o.Limits.OneTimeKeys <= 0 {
			return nil
		}
		var open int
		if err := tx.QueryRow(ctx, sqlUnclaimed, c.Caller).Scan(&open); err != nil {
			return fmt.Errorf("count one-time keys: %w", err)
		}
		if open > o.Limits.OneTimeKeys {
			return ErrTooManyKeys
		}
		return nil
	})
	return added, err
}

// CountKeys tells the caller how many of its one-time keys are unclaimed and
// whether it has a fallback key; an unknown caller has neither.
func (o *Office) CountKeys(ctx context.Context, c Call) (unclaimed int, fallback bool, err error) {
	err = o.do(ctx, c, func(ctx context.Context, tx *pg.Tx) error {
		var newDay bool
		err := tx.QueryRow(ctx, sqlCountKeys, c.Caller, c.Now.UTC()).Scan(&unclaimed, &fallback, &newDay)
		if pg.IsNotFound(err) {
			unclaimed, fallback = 0, false
			return nil
		}
		if err == nil && newDay {
			_, err = tx.Exec(ctx, sqlSeen, c.Caller, c.Now.UTC())
		}
		return err
	})
	return unclaimed, fallback, err
}

// Keys are the public keys of an address. ErrUnknown.
func (o *Office) Keys(ctx context.Context, c Call, peer string) (identityKey, signingKey string, err error) {
	err = o.do(ctx, c, func(ctx context.Context, tx *pg.Tx) error {
		b, err := mailboxTx(ctx, tx, peer)
		identityKey, signingKey = b.identity, b.signing
		return err
	})
	return identityKey, signingKey, err
}

// Claimed is a key to open a session with.
type Claimed struct {
	IdentityKey, SigningKey string
	Key
	Fallback bool // it may be given again
}

// ClaimKey hands out the peer's oldest unclaimed one-time key, once and to one
// caller; when none is left the fallback key. ErrUnknown, ErrNoKeys.
func (o *Office) ClaimKey(ctx context.Context, c Call, peer string) (out Claimed, err error) {
	err = o.do(ctx, c, func(ctx context.Context, tx *pg.Tx) error {
		b, err := mailboxTx(ctx, tx, peer)
		if err != nil {
			return err
		}
		out = Claimed{IdentityKey: b.identity, SigningKey: b.signing}
		err = tx.QueryRow(ctx, sqlClaimKey, peer, c.Now).Scan(&out.ID, &out.Key.Key)
		if !pg.IsNotFound(err) {
			return err
		}
		if b.fallback == nil {
			return ErrNoKeys
		}
		out.Key, out.Fallback = *b.fallback, true
		return nil
	})
	return out, err
}

type mailbox struct {
	identity, signing string
	fallback          *Key
}

func mailboxTx(ctx context.Context, tx *pg.Tx, address string) (b mailbox, err error) {
	var id, key *string
	err = tx.QueryRow(ctx, sqlKeys, address).Scan(&b.identity, &b.signing, &id, &key)
	if pg.IsNotFound(err) {
		return b, ErrUnknown
	}
	if id != nil && key != nil {
		b.fallback = &Key{ID: *id, Key: *key}
	}
	return b, err
}

// collect reads rows of letters.
func collect(rows pgx.Rows, err error) ([]Letter, error) {
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(r pgx.CollectableRow) (l Letter, err error) {
		var body []byte
		err = r.Scan(&l.ID, &l.SentAt, &l.From, &l.MType, &body)
		l.Body = string(body)
		return l, err
	})
}
