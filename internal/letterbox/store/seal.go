package store

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"golang.org/x/crypto/argon2"
	"golang.org/x/crypto/chacha20poly1305"
)

// Passphrase is what protects a store. The zero value stands for none: the keys are then protected by the file's mode only.
type Passphrase struct{ secret []byte }

// NewPassphrase wraps a secret that is not empty.
func NewPassphrase(secret string) Passphrase { return Passphrase{[]byte(secret)} }

// None says that there is no passphrase.
func (p Passphrase) None() bool { return len(p.secret) == 0 }

// String hides the secret from logs.
func (p Passphrase) String() string { return "[passphrase]" }

// GoString hides the secret from logs.
func (p Passphrase) GoString() string { return p.String() }

// retalkSecret is what the secret of a retalk identity is derived from (contract 2.3).
func (p Passphrase) retalkSecret() []byte {
	if p.None() {
		return []byte("\x00retalk:disabled-passphrase")
	}
	return p.secret
}

// Cost is what deriving the key costs whoever guesses a passphrase. It is stored beside the salt.
type Cost struct {
	Time    uint32 `json:"time"`
	Memory  uint32 `json:"memory"` // KiB
	Threads uint8  `json:"threads"`
}

// DefaultCost is the second recommendation of RFC 9106 (section 4).
var DefaultCost = Cost{Time: 3, Memory: 64 << 10, Threads: 4}

// maxMemory is where a damaged or hostile store would make this process eat the machine, KiB.
const maxMemory = 4 << 20

// derivation says how the key is made from the passphrase.
type derivation struct {
	Cost
	Kind string `json:"kind"` // argon2id or none
	Salt []byte `json:"salt"`
}

const (
	kindArgon = "argon2id"
	kindNone  = "none"
)

func (d derivation) key(pass Passphrase) ([]byte, error) {
	switch {
	case d.Kind == kindNone:
		// A public constant: there is nothing to guess, so nothing to make costly.
		sum := sha256.Sum256(append([]byte("agntchat letters: no passphrase"), d.Salt...))
		return sum[:], nil
	case d.Kind != kindArgon, d.Time == 0, d.Threads == 0, d.Memory > maxMemory:
		return nil, ErrDamaged
	}
	return argon2.IDKey(pass.secret, d.Salt, d.Time, d.Memory, d.Threads, 32), nil
}

// sealer holds the keys of an unlocked store.
type sealer struct {
	aead   cipher.AEAD
	pickle []byte
	proof  string // the store's, as last seen; it changes with the passphrase only
}

func newSealer(master []byte) (*sealer, error) {
	part := func(info string) ([]byte, error) { return hkdf.Key(sha256.New, master, nil, info, 32) }
	seal, err := part("agntchat letters seal 1")
	if err != nil {
		return nil, err
	}
	pickle, err := part("agntchat letters pickle 1")
	if err != nil {
		return nil, err
	}
	aead, err := chacha20poly1305.NewX(seal)
	clear(seal)
	return &sealer{aead: aead, pickle: pickle}, err
}

func (s *sealer) wipe() { clear(s.pickle) }

// close seals plain for one place: moved to another row or column it does not open.
func (s *sealer) close(place string, plain []byte) []byte {
	nonce := make([]byte, chacha20poly1305.NonceSizeX, chacha20poly1305.NonceSizeX+len(plain)+chacha20poly1305.Overhead)
	_, _ = rand.Read(nonce) // never fails
	return s.aead.Seal(nonce, nonce, plain, []byte(place))
}

func (s *sealer) open(place string, sealed []byte) ([]byte, error) {
	if len(sealed) < chacha20poly1305.NonceSizeX {
		return nil, ErrDamaged
	}
	plain, err := s.aead.Open(nil, sealed[:chacha20poly1305.NonceSizeX], sealed[chacha20poly1305.NonceSizeX:], []byte(place))
	if err != nil {
		return nil, ErrDamaged
	}
	return plain, nil
}

func (t *Tx) close(place, key string, plain []byte) ([]byte, error) {
	if t.seal == nil {
		return nil, ErrLocked
	}
	return t.seal.close(place+"/"+key, plain), nil
}

func (t *Tx) open(place, key string, sealed []byte) ([]byte, error) {
	if t.seal == nil {
		return nil, ErrLocked
	}
	plain, err := t.seal.open(place+"/"+key, sealed)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, place)
	}
	return plain, nil
}

// protect sets the passphrase of a new store and unlocks the transaction.
func (t *Tx) protect(pass Passphrase, cost Cost) error {
	d := newDerivation(pass, cost)
	seal, err := d.sealer(pass)
	if err != nil {
		return err
	}
	t.seal = seal
	return t.setDerivation(d)
}

func newDerivation(pass Passphrase, cost Cost) derivation {
	d := derivation{Cost: cost, Kind: kindArgon, Salt: make([]byte, 16)}
	if pass.None() {
		d = derivation{Kind: kindNone, Salt: d.Salt}
	}
	_, _ = rand.Read(d.Salt)
	return d
}

// setDerivation notes how the key of this transaction is made, and the proof of it.
func (t *Tx) setDerivation(d derivation) error {
	b, err := json.Marshal(d)
	if err != nil {
		return err
	}
	if err := t.setMeta(metaKey, string(b)); err != nil {
		return err
	}
	t.seal.proof = string(t.seal.close(metaProof, []byte(metaProof)))
	return t.setMeta(metaProof, t.seal.proof)
}

func (d derivation) sealer(pass Passphrase) (*sealer, error) {
	master, err := d.key(pass)
	if err != nil {
		return nil, err
	}
	defer clear(master)
	return newSealer(master)
}

func (t *Tx) derivation() (d derivation, err error) {
	v, err := t.meta(metaKey)
	if err != nil {
		return d, err
	}
	if json.Unmarshal([]byte(v), &d) != nil {
		return d, ErrDamaged
	}
	return d, nil
}

// NoPassphrase says whether the store was made without one.
func (t *Tx) NoPassphrase() (bool, error) {
	d, err := t.derivation()
	return d.Kind == kindNone, err
}

// PickleKey is the key for pickles of the account and its sessions.
func (t *Tx) PickleKey() ([]byte, error) {
	if t.seal == nil {
		return nil, ErrLocked
	}
	return t.seal.pickle, nil
}
