package store

import (
	"context"
	"fmt"
)

// Pickles re-encrypts what is stored as pickles, which this package does not understand.
type Pickles struct {
	Account, Session func(pickle, oldKey, newKey []byte) ([]byte, error)
}

// Rekey changes the passphrase of an unlocked store: everything sealed is sealed anew in one transaction, so that the store opens
// with the old passphrase or with the new one, whenever the process or the machine stops. It waits for letters that are being
// handed on and keys that are being published; other processes that have the store open are told [ErrRekeyed] from then on. Nothing
// else of this process may use s meanwhile.
// Errors: [ErrLocked], [ErrRekeyed], [ErrDamaged].
func (s *Store) Rekey(ctx context.Context, pass Passphrase, cost Cost, p Pickles) error {
	if s.seal == nil {
		return ErrLocked
	}
	for _, which := range []Lock{Delivery, Upkeep} {
		release, err := s.Lock(ctx, which)
		if err != nil {
			return err
		}
		defer release()
	}
	d := newDerivation(pass, cost)
	fresh, err := d.sealer(pass) // takes long on purpose: outside the transaction
	if err != nil {
		return err
	}
	err = s.Tx(ctx, func(tx *Tx) error { return tx.rekey(d, fresh, p) })
	if err != nil {
		return err
	}
	s.seal.wipe()
	s.seal = fresh
	// The log still holds pages that open with the old key: fold it into the file, whose freed places are overwritten.
	if _, err := s.db.ExecContext(ctx, sqlCheckpoint); err != nil {
		return fmt.Errorf("store: the passphrase is changed, but the file's log could not be emptied: %w", err)
	}
	return nil
}

func (t *Tx) rekey(d derivation, fresh *sealer, p Pickles) error {
	old := t.seal
	// What is sealed as such: opened with one key, closed with the other, for the same place.
	reseal := func(place string) func(key string, sealed []byte) ([]byte, error) {
		return func(key string, sealed []byte) ([]byte, error) {
			plain, err := old.open(place+"/"+key, sealed)
			if err != nil {
				return nil, fmt.Errorf("%w: %s", err, place)
			}
			return fresh.close(place+"/"+key, plain), nil
		}
	}
	session := func(_ string, pickle []byte) ([]byte, error) { return p.Session(pickle, old.pickle, fresh.pickle) }
	for _, table := range []struct {
		read, write string
		reseal      func(key string, sealed []byte) ([]byte, error)
	}{
		{sqlSealedHistory, sqlResealHistory, reseal("history")},
		{sqlSealedArrived, sqlResealArrived, reseal("arrived")},
		{sqlSealedOutbox, sqlResealOutbox, reseal("outbox")},
		{sqlSealedSessions, sqlResealSession, session},
	} {
		if err := t.resealTable(table.read, table.write, table.reseal); err != nil {
			return err
		}
	}
	account, err := t.Account()
	if err != nil {
		return err
	}
	if len(account) > 0 {
		if account, err = p.Account(account, old.pickle, fresh.pickle); err != nil {
			return err
		}
		if err := t.SetAccount(account); err != nil {
			return err
		}
	}
	key, err := t.APIKey()
	if err != nil {
		return err
	}
	t.seal = fresh
	if key != "" {
		if err := t.SetAPIKey(key); err != nil {
			return err
		}
	}
	return t.setDerivation(d)
}

type sealedRow struct {
	n      int64
	key    string
	sealed []byte
}

func (t *Tx) resealTable(read, write string, reseal func(key string, sealed []byte) ([]byte, error)) error {
	for after := int64(0); ; {
		rows, err := all(t, read, []any{after}, func(row func(...any) error) (r sealedRow, err error) {
			return r, row(&r.n, &r.key, &r.sealed)
		})
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, r := range rows {
			after = r.n
			if len(r.sealed) == 0 {
				continue // a letter taken over from retalk has no text
			}
			fresh, err := reseal(r.key, r.sealed)
			if err != nil {
				return err
			}
			if err := t.exec(write, fresh, r.n); err != nil {
				return err
			}
		}
	}
}
