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
	var fallbackID, fallback *string
	if p.Fallback != nil {
		fallbackID, fallback = &p.Fallback.ID, &p.Fallback.Key
	}
	// The row of the mailbox is locked from here on: publications of one address follow each other.
	open := statement{sql: sqlPublish, args: []any{c.Caller, p.IdentityKey, p.SigningKey, fallbackID, fallback, c.Now.UTC()}}
	err = o.do(ctx, c, open, func(ctx context.Context, tx *pg.Tx) error {
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
		var unclaimed int
		if err := tx.QueryRow(ctx, sqlUnclaimed, c.Caller).Scan(&unclaimed); err != nil {
			return fmt.Errorf("count one-time keys: %w", err)
		}
		if unclaimed > o.Limits.OneTimeKeys {
			return ErrTooManyKeys
		}
		return nil
	})
	return added, err
}

// CountKeys tells the caller how many of its one-time keys are unclaimed and
// whether it has a fallback key; an unknown caller has neither.
func (o *Office) CountKeys(ctx context.Context, c Call) (unclaimed int, fallback bool, err error) {
	var newDay bool
	known := false
	count := statement{sqlCountKeys, []any{c.Caller, c.Now.UTC()}, pg.ReadValues(&known, &unclaimed, &fallback, &newDay)}
	err = o.do(ctx, c, count, func(ctx context.Context, tx *pg.Tx) error {
		if !known || !newDay {
			return nil
		}
		_, err := tx.Exec(ctx, sqlSeen, c.Caller, c.Now.UTC())
		return err
	})
	return unclaimed, fallback, err
}

// Keys are the public keys of an address. ErrUnknown.
func (o *Office) Keys(ctx context.Context, c Call, peer string) (identityKey, signingKey string, err error) {
	var b mailbox
	err = o.do(ctx, c, b.of(peer), b.known)
	return b.identity, b.signing, err
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
	var b mailbox
	err = o.do(ctx, c, b.of(peer), func(ctx context.Context, tx *pg.Tx) error {
		if !b.found {
			return ErrUnknown
		}
		out = Claimed{IdentityKey: b.identity, SigningKey: b.signing}
		err := tx.QueryRow(ctx, sqlClaimKey, peer, c.Now).Scan(&out.ID, &out.Key.Key)
		if !pg.IsNotFound(err) {
			return err
		}
		if b.fallbackID == nil || b.fallback == nil {
			return ErrNoKeys
		}
		out.Key, out.Fallback = Key{ID: *b.fallbackID, Key: *b.fallback}, true
		return nil
	})
	return out, err
}

type mailbox struct {
	found                bool
	identity, signing    string
	fallbackID, fallback *string
}

func (b *mailbox) of(address string) statement {
	return statement{sqlKeys, []any{address}, pg.ReadValues(&b.found, &b.identity, &b.signing, &b.fallbackID, &b.fallback)}
}

func (b *mailbox) known(context.Context, *pg.Tx) error {
	if !b.found {
		return ErrUnknown
	}
	return nil
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
