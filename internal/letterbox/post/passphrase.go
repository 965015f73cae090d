package post

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/agntchat/agntchat/internal/letterbox/olm"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

// ChangePassphrase seals an unlocked store with another passphrase, or with none. Errors: those of [store.Store.Rekey]; after any
// of them the old passphrase is the good one.
func ChangePassphrase(ctx context.Context, s *store.Store, pass store.Passphrase, cost store.Cost) error {
	return s.Rekey(ctx, pass, cost, store.Pickles{
		Account: func(pickle, oldKey, newKey []byte) ([]byte, error) {
			account, err := olm.UnpickleAccount(pickle, oldKey)
			if err != nil {
				return nil, errors.Join(store.ErrDamaged, err)
			}
			return account.Pickle(rand.Reader, newKey)
		},
		Session: func(pickle, oldKey, newKey []byte) ([]byte, error) {
			session, err := olm.UnpickleSession(pickle, oldKey)
			if err != nil {
				return pickle, nil //nolint:nilerr // a damaged session is passed over wherever it is met, and is no reason to keep the passphrase
			}
			return session.Pickle(rand.Reader, newKey)
		},
	})
}

// Sign signs a text with the identity of an unlocked store, base64 without padding. What is signed must begin unlike the text of
// any call, which begins with a tool's name.
func Sign(ctx context.Context, s *store.Store, text []byte) (sig string, err error) {
	return sig, s.Tx(ctx, func(tx *store.Tx) error {
		account, err := loadAccount(tx)
		if err != nil {
			return err
		}
		sig = account.Sign(text)
		return nil
	})
}
