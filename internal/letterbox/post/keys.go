package post

import (
	"context"
	"errors"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/olm"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// Summary is what a sync did (contract letters 2.5).
type Summary struct {
	Unclaimed       int  // one-time keys at the relay before anything was published
	Republished     bool // the relay had forgotten this identity
	Replenished     bool // one-time keys were published
	FallbackRotated bool
	Resent          int
	Problems        []Problem // letters that did not go out
}

// Problem is a letter of the outbox that did not go out, and why.
type Problem struct {
	ID    string
	Peer  string
	State store.State
	Text  string
}

// Resend says which letters of the outbox a sync uploads again.
type Resend int

// The choices.
const (
	ResendNone Resend = iota // keys only
	ResendDue                // those whose time has come
	ResendAll                // all that are not acknowledged
)

// Sync brings relay and store together: keys at the relay, and letters nobody acknowledged. A letter that fails is in the
// summary and stops no other one. Errors: those of a call, when the relay cannot even count.
func (b *Box) Sync(ctx context.Context, resend Resend) (Summary, error) {
	s, err := b.upkeep(ctx)
	if err != nil || resend == ResendNone {
		return s, err
	}
	if s.Republished {
		if err := b.store.Tx(ctx, (*store.Tx).AllDue); err != nil {
			return s, err
		}
	}
	s.Resent, s.Problems, err = b.flush(ctx, resend == ResendAll)
	if err != nil {
		return s, err
	}
	return s, b.answer(ctx, true)
}

// upkeep publishes keys when the relay runs short of them or has forgotten us, and changes the fallback key once a day.
func (b *Box) upkeep(ctx context.Context) (Summary, error) {
	release, err := b.store.TryLock(store.Upkeep)
	if errors.Is(err, store.ErrBusy) {
		// Another process of this identity does it this very moment. Doing it too would publish keys twice.
		count, err := b.relay.count(ctx)
		return Summary{Unclaimed: count.Unclaimed}, err
	}
	if err != nil {
		return Summary{}, err
	}
	defer release()
	count, err := b.relay.count(ctx)
	if err != nil {
		return Summary{}, err
	}
	s := Summary{Unclaimed: count.Unclaimed, Republished: !count.HasFallback}
	var keys, fallback map[string]string
	err = b.store.Tx(ctx, func(tx *store.Tx) error {
		keys, fallback, err = b.prepare(tx, count, &s)
		return err
	})
	if err != nil || len(keys) == 0 && len(fallback) == 0 {
		return s, err
	}
	if err := b.relay.publish(ctx, keys, fallback); err != nil {
		return s, err
	}
	return s, b.store.Tx(ctx, b.published)
}

// prepare decides what to publish and saves the private halves before a public one leaves.
func (b *Box) prepare(tx *store.Tx, count letter.KeyCount, s *Summary) (keys, fallback map[string]string, err error) {
	before, pending, err := tx.Upload()
	if err != nil {
		return nil, nil, err
	}
	if pending && count.HasFallback && count.Unclaimed > before {
		// The last upload ended well and we were stopped before we could note it. Publishing the same keys again would give one
		// key to two strangers.
		return nil, nil, b.published(tx)
	}
	account, err := loadAccount(tx)
	if err != nil {
		return nil, nil, err
	}
	s.Replenished = count.Unclaimed < minKeys
	if s.Replenished && len(account.OneTimeKeys()) == 0 {
		if account.StoredOneTimeKeys() > olm.MaxOneTimeKeys-keyBatch {
			account.ForgetOneTimeKeys(olm.MaxOneTimeKeys - keyBatch)
		}
		if err := account.GenerateOneTimeKeys(b.rand, keyBatch); err != nil {
			return nil, nil, err
		}
	}
	made, err := tx.FallbackAt()
	if err != nil {
		return nil, nil, err
	}
	current, known := account.FallbackKey()
	switch old := tx.Now()-made > fallbackAge.Seconds(); {
	case current == nil, old && known:
		s.FallbackRotated = true
		if err := account.GenerateFallbackKey(b.rand); err != nil {
			return nil, nil, err
		}
		fallback, _ = account.FallbackKey()
	case !known || s.Republished:
		fallback = current // made for an upload that did not end well, or forgotten by the relay
	}
	if s.Replenished {
		keys = account.OneTimeKeys()
	}
	if len(keys) == 0 && len(fallback) == 0 {
		return nil, nil, nil
	}
	return keys, fallback, errors.Join(saveAccount(tx, b.rand, account), tx.BeginUpload(count.Unclaimed))
}

// published notes that the relay has our keys.
func (b *Box) published(tx *store.Tx) error {
	account, err := loadAccount(tx)
	if err != nil {
		return err
	}
	_, known := account.FallbackKey()
	account.MarkPublished()
	err = errors.Join(saveAccount(tx, b.rand, account), tx.EndUpload())
	if !known {
		err = errors.Join(err, tx.SetFallbackAt())
	}
	return err
}

// backoff is how long a letter waits before its next upload, in seconds.
func backoff(tries int, first, most time.Duration) float64 {
	d := first
	for range min(tries, 20) {
		d = min(2*d, most)
	}
	return d.Seconds()
}
