// Package post sends and receives letters for one identity: it is the client of a relay and the rules of contract letters
// section 2. It owns what happens between a store and a relay; it prints nothing and knows no command line.
//
// Order is what makes it safe against crashes and second processes:
//   - A letter is in the outbox, on disk, before it is uploaded, and leaves it when its recipient acknowledged it.
//   - A ciphertext is in the store before the relay forgets it. It is opened, and its session saved, in one transaction.
//   - An opened letter is acknowledged after the caller's function took it. A crash in between hands the same letter, with the
//     same id, to that function again: callers that keep letters drop an id they have.
//
// A relay is trusted with nothing: its keys must hash to the address they are for, everything else is checked by the recipient.
package post

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/olm"
	"github.com/agntchat/agntchat/internal/letterbox/store"
	"github.com/agntchat/agntchat/internal/wire/letter"
)

// Times of the client's upkeep (contract letters 2.5).
const (
	minKeys     = 20             // unclaimed keys at the relay below which more are published
	keyBatch    = 100            // how many at a time
	fallbackAge = 24 * time.Hour // after which the fallback key is changed
	giveUpAfter = 14 * 24 * time.Hour
	sendFor     = 30 * 24 * time.Hour // how long a ciphertext that nobody acknowledges is uploaded again
)

// maxEnvelope bounds a letter so that its call, filled up to the next 64 KiB, fits the 1 MiB that a relay takes; in bytes of the
// envelope.
const maxEnvelope = 700_000

// Config is what a Box needs. Store must be unlocked.
type Config struct {
	Store     *store.Store
	Book      store.Book // contacts of all identities of this owner
	Relay     string     // address, exactly as signatures name it
	APIKey    string     // empty for none
	UserAgent string     // empty for the usual one
	Log       *slog.Logger
}

// Box is an identity at a relay. It may be used from several goroutines.
type Box struct {
	store *store.Store
	book  store.Book
	relay *relay
	log   *slog.Logger
	rand  io.Reader
	me    store.Identity
	auto  int // see Automatic

	patience time.Duration // see ErrHeld
}

// Create makes a new identity: its keys, and nothing at any relay.
func Create(ctx context.Context, dir string, pass store.Passphrase, cost store.Cost, who store.Identity, apiKey string) (*store.Store, error) {
	account, err := olm.NewAccount(rand.Reader)
	if err != nil {
		return nil, err
	}
	return CreateFrom(ctx, dir, pass, cost, account, who, func(tx *store.Tx) error {
		if apiKey == "" {
			return nil
		}
		return tx.SetAPIKey(apiKey)
	})
}

// CreateFrom makes an identity of keys that exist already; more writes what else it begins with.
func CreateFrom(ctx context.Context, dir string, pass store.Passphrase, cost store.Cost, account *olm.Account, who store.Identity, more func(*store.Tx) error) (*store.Store, error) {
	who.IdentityKey, who.SigningKey = account.Curve(), account.Ed()
	who.Address = letter.Address(who.IdentityKey, who.SigningKey)
	return store.Create(ctx, dir, pass, cost, func(tx *store.Tx) error {
		if err := tx.SetIdentity(who); err != nil {
			return err
		}
		if err := saveAccount(tx, rand.Reader, account); err != nil {
			return err
		}
		return more(tx)
	})
}

// Open puts an unlocked store and a relay together. Errors: [ErrRelayAddress].
func Open(ctx context.Context, c Config) (*Box, error) {
	b := &Box{store: c.Store, book: c.Book, log: c.Log, rand: rand.Reader, patience: heldFor}
	var account *olm.Account
	err := c.Store.Tx(ctx, func(tx *store.Tx) (err error) {
		if b.me, err = tx.Identity(); err != nil {
			return err
		}
		account, err = loadAccount(tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if letter.Address(account.Curve(), account.Ed()) != b.me.Address {
		return nil, fmt.Errorf("%w: the account is not the identity's", store.ErrDamaged)
	}
	b.relay, err = newRelay(c, b.me, account.Sign)
	return b, err
}

// Close ends idle connections to the relay. The store stays open.
func (b *Box) Close() { b.relay.http.CloseIdleConnections() }

// maxAuto bounds the count of automatic letters that led to one.
const maxAuto = 1000

// Automatic marks the letters that the box sends from now on as ones that no person asked for: n automatic letters led to each, itself included. 0 takes the mark away. The mark
// is a member that other clients pass over; what reads letters for an agent counts by it, so that two agents do not answer each other for ever. Call it before the box is used from several goroutines.
func (b *Box) Automatic(n int) { b.auto = min(max(n, 0), maxAuto) }

// Me is the identity.
func (b *Box) Me() store.Identity { return b.me }

// NoticeID is the id of what a program of the identity says to its own sessions: the same for the same text, and nobody else can tell it.
// Readers drop what has the id of a letter they had, so an id that can be guessed could be taken away by a letter that has it first.
func (b *Box) NoticeID(text string) string {
	sum := sha256.Sum256([]byte(b.relay.sign([]byte("agnt-letters-notice|" + text))))
	return hex.EncodeToString(sum[:16])
}

func loadAccount(tx *store.Tx) (*olm.Account, error) {
	key, err := tx.PickleKey()
	if err != nil {
		return nil, err
	}
	pickle, err := tx.Account()
	if err != nil {
		return nil, err
	}
	account, err := olm.UnpickleAccount(pickle, key)
	if err != nil {
		return nil, errors.Join(store.ErrDamaged, err)
	}
	return account, nil
}

func saveAccount(tx *store.Tx, rand io.Reader, account *olm.Account) error {
	key, err := tx.PickleKey()
	if err != nil {
		return err
	}
	pickle, err := account.Pickle(rand, key)
	if err != nil {
		return err
	}
	return tx.SetAccount(pickle)
}

// ErrPinMismatch is keys that are not those of the address they were asked for: the relay, or somebody at it, plays false.
// It stops whatever was going on; nothing was sent or taken.
var ErrPinMismatch = errors.New("PIN MISMATCH")

// pinMismatch words the error as other programs look for it (contract letters 2.8).
func pinMismatch(peer, got string) error {
	return fmt.Errorf("%w for peer '%s': the relay served keys whose fingerprint is '%s'. Somebody may be between you and your peer: refusing to go on", ErrPinMismatch, peer, got)
}

// check refuses keys that are not those of an address and of its pinned contact.
func (b *Box) check(ctx context.Context, peer, identity, signing string) error {
	if got := letter.Address(identity, signing); got != peer {
		return pinMismatch(peer, got)
	}
	contacts, err := b.Contacts(ctx)
	if err != nil {
		return err
	}
	if c, ok := contacts.ByAddress(peer); ok && c.Verified() && c.Identity != identity {
		return pinMismatch(peer, letter.Address(identity, c.Signing))
	}
	return nil
}

// keys gives the checked keys of a peer, from the store or else from the relay. Errors: [ErrPinMismatch], those of a call.
func (b *Box) keys(ctx context.Context, peer string) (store.Keys, error) {
	k, known, err := b.knownKeys(ctx, peer)
	if err != nil || known {
		return k, err
	}
	return b.FetchKeys(ctx, peer)
}

// knownKeys are those in the store, checked; known is false when there are none.
func (b *Box) knownKeys(ctx context.Context, peer string) (k store.Keys, known bool, err error) {
	err = b.store.Tx(ctx, func(tx *store.Tx) (err error) {
		k, known, err = tx.PeerKeys(peer)
		return err
	})
	if err == nil && known {
		err = b.check(ctx, peer, k.Identity, k.Signing)
	}
	return k, known, err
}

// FetchKeys asks the relay for a peer's keys, checks them and keeps them. Errors: [ErrPinMismatch], those of a call.
func (b *Box) FetchKeys(ctx context.Context, peer string) (store.Keys, error) {
	got, err := b.relay.getKeys(ctx, peer)
	if err != nil {
		return store.Keys{}, err
	}
	k := store.Keys{Identity: got.IdentityKey, Signing: got.SigningKey}
	if err := b.check(ctx, peer, k.Identity, k.Signing); err != nil {
		return store.Keys{}, err
	}
	return k, b.store.Tx(ctx, func(tx *store.Tx) error { return tx.SavePeerKeys(peer, k) })
}
