package olm

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
)

// Account is one identity: a signing key, an identity key, and the keys that strangers begin sessions with.
type Account struct {
	signing  signer
	identity pair
	oneTime  []oneTimeKey // oldest first
	nextID   uint64
	fallback *oneTimeKey // the current one
	previous *oneTimeKey // the one before, for letters on their way
}

type oneTimeKey struct {
	id        uint64
	published bool
	pair      pair
}

// name is the key's id on the wire: a counter of 8 bytes in base64, as vodozemac writes it. Everyone treats it as opaque.
func (k *oneTimeKey) name() string {
	return base64.RawStdEncoding.EncodeToString(binary.BigEndian.AppendUint64(nil, k.id))
}

// NewAccount makes a fresh identity without one-time keys.
func NewAccount(rand io.Reader) (*Account, error) {
	var seed key
	if _, err := io.ReadFull(rand, seed[:]); err != nil {
		return nil, fmt.Errorf("olm: random bytes: %w", err)
	}
	identity, err := newPair(rand)
	if err != nil {
		return nil, err
	}
	return &Account{signing: newSigner(seed), identity: identity}, nil
}

// Curve is the public identity key.
func (a *Account) Curve() string { return a.identity.public.String() }

// Ed is the public signing key.
func (a *Account) Ed() string { return a.signing.public.String() }

// Sign is the ed25519 signature of message, base64 without padding.
func (a *Account) Sign(message []byte) string {
	return base64.RawStdEncoding.EncodeToString(a.signing.sign(message))
}

// GenerateOneTimeKeys makes n new one-time keys. Keys are never dropped to make room, for one that is published may be claimed
// any time and a letter to a dropped key is lost (contract letters 7.4): beyond [MaxOneTimeKeys] it makes none and returns
// [ErrFull]. A caller whose publishing failed publishes [Account.OneTimeKeys] again instead of making more.
func (a *Account) GenerateOneTimeKeys(rand io.Reader, n int) error {
	if n < 0 || len(a.oneTime)+n > MaxOneTimeKeys {
		return fmt.Errorf("%w: %d stored, %d wanted, at most %d", ErrFull, len(a.oneTime), n, MaxOneTimeKeys)
	}
	fresh := make([]oneTimeKey, 0, n)
	for i := range n {
		p, err := newPair(rand)
		if err != nil {
			return err
		}
		fresh = append(fresh, oneTimeKey{id: a.nextID + uint64(i), pair: p})
	}
	a.oneTime = append(a.oneTime, fresh...)
	a.nextID += uint64(n)
	return nil
}

// OneTimeKeys are the keys not yet marked as published, by id.
func (a *Account) OneTimeKeys() map[string]string {
	keys := map[string]string{}
	for i := range a.oneTime {
		if k := &a.oneTime[i]; !k.published {
			keys[k.name()] = k.pair.public.String()
		}
	}
	return keys
}

// StoredOneTimeKeys counts all one-time keys, published or not, of which [MaxOneTimeKeys] is the limit.
func (a *Account) StoredOneTimeKeys() int { return len(a.oneTime) }

// ForgetOneTimeKeys drops the oldest published keys until keep of them are left, and says how many it dropped. A relay hands out
// the oldest first, so what lies beyond its count of unclaimed keys is claimed or belongs to a relay that lost it; letters to
// those may still be on their way, therefore keep should be a multiple of that count. Unpublished keys stay.
func (a *Account) ForgetOneTimeKeys(keep int) int {
	published := 0
	for i := range a.oneTime {
		if a.oneTime[i].published {
			published++
		}
	}
	drop := max(published-max(keep, 0), 0)
	left := drop
	a.oneTime = slices.DeleteFunc(a.oneTime, func(k oneTimeKey) bool { // zeroes what it frees
		if left == 0 || !k.published {
			return false
		}
		left--
		return true
	})
	return drop
}

// GenerateFallbackKey makes the key that is claimed when no one-time key is left. The one before is kept, the one before that
// is dropped, so that letters on their way at a rotation still open.
func (a *Account) GenerateFallbackKey(rand io.Reader) error {
	p, err := newPair(rand)
	if err != nil {
		return err
	}
	a.ForgetOldFallbackKey()
	a.previous = a.fallback
	a.fallback = &oneTimeKey{id: a.nextID, pair: p}
	a.nextID++
	return nil
}

// FallbackKey is the current fallback key as id → key, nil when there is none, and whether it is marked as published. A relay
// that forgot this account gets the same key again: no rotation is needed.
func (a *Account) FallbackKey() (idToKey map[string]string, published bool) {
	if a.fallback == nil {
		return nil, false
	}
	return map[string]string{a.fallback.name(): a.fallback.pair.public.String()}, a.fallback.published
}

// ForgetOldFallbackKey drops the fallback key before the current one, and says whether there was one.
func (a *Account) ForgetOldFallbackKey() bool {
	if a.previous == nil {
		return false
	}
	clear(a.previous.pair.secret[:])
	a.previous = nil
	return true
}

// MarkPublished notes that the relay has all keys there are now.
func (a *Account) MarkPublished() {
	for i := range a.oneTime {
		a.oneTime[i].published = true
	}
	if a.fallback != nil {
		a.fallback.published = true
	}
}

// find is the private half of a one-time or fallback key, nil when this account has none such.
func (a *Account) find(public key) *pair {
	for i := range a.oneTime {
		if a.oneTime[i].pair.public == public {
			return &a.oneTime[i].pair
		}
	}
	for _, k := range []*oneTimeKey{a.fallback, a.previous} {
		if k != nil && k.pair.public == public {
			return &k.pair
		}
	}
	return nil
}

// Outbound begins a session with the owner of theirCurve, whose one-time or fallback key theirOneTime was claimed. The caller
// has checked that theirCurve is who it means. Errors: [ErrMalformed], [ErrWeakKey].
func (a *Account) Outbound(rand io.Reader, theirCurve, theirOneTime string) (*Session, error) {
	their, err := parseKey(theirCurve)
	if err != nil {
		return nil, err
	}
	oneTime, err := parseKey(theirOneTime)
	if err != nil {
		return nil, err
	}
	base, err := newPair(rand)
	if err != nil {
		return nil, err
	}
	ratchet, err := newPair(rand)
	if err != nil {
		return nil, err
	}
	root, chain, err := agree([3]*pair{&a.identity, &base, &base}, [3]key{oneTime, their, oneTime})
	clear(base.secret[:])
	if err != nil {
		return nil, err
	}
	return &Session{
		keys: sessionKeys{identity: a.identity.public, base: base.public, oneTime: oneTime}, outbound: true,
		root: root, sending: &sendChain{ratchet: ratchet, chainKey: chainKey{key: chain}},
	}, nil
}

// Inbound begins the session that a pre-key message from the owner of theirCurve speaks of. It opens nothing and uses nothing
// up: the caller opens the same body with [Session.Decrypt], and after that calls [Account.Consume]. It does not know other
// sessions: a body that [Session.Matches] an existing one belongs there. Errors: [ErrMalformed], [ErrMismatch] when the message
// names another identity, [ErrNoKey], [ErrWeakKey].
func (a *Account) Inbound(theirCurve, preKeyBody string) (*Session, error) {
	their, err := parseKey(theirCurve)
	if err != nil {
		return nil, err
	}
	m, err := decodePreKey(preKeyBody)
	if err != nil {
		return nil, err
	}
	if m.keys.identity != their {
		return nil, fmt.Errorf("%w: identity key", ErrMismatch)
	}
	mine := a.find(m.keys.oneTime)
	if mine == nil {
		return nil, ErrNoKey
	}
	root, chain, err := agree([3]*pair{mine, &a.identity, mine}, [3]key{their, m.keys.base, m.keys.base})
	if err != nil {
		return nil, err
	}
	return &Session{
		keys: m.keys, root: root, their: m.message.ratchet,
		receiving: []receiveChain{{ratchet: m.message.ratchet, chainKey: chainKey{key: chain}}},
	}, nil
}

// Consume removes the one-time key that s began with, and says whether there was one: a fallback key stays. It does nothing for
// a session that has opened no message, since anyone can name a key of ours.
func (a *Account) Consume(s *Session) bool {
	if s.outbound || !s.received {
		return false
	}
	before := len(a.oneTime)
	a.oneTime = slices.DeleteFunc(a.oneTime, func(k oneTimeKey) bool { return k.pair.public == s.keys.oneTime })
	return len(a.oneTime) < before
}
