// Package olm is Olm version 1: the key agreement and double ratchet that letters are sealed with (contract letters 2.1).
// It is compatible on the wire with libolm 3.2 and vodozemac, uses the standard library's primitives only, does no input or
// output of its own, and draws randomness from the reader it is given (crypto/rand.Reader outside tests).
//
// An [Account] is one identity with its one-time keys; a [Session] is one conversation between two identities. Neither may be
// used from two goroutines at once. Keys are text as on the wire: standard base64 without padding, 43 characters; bodies of
// messages are standard base64 with padding.
//
// What a caller must keep in mind:
//   - Save the session before a sealed message leaves: a session restored to an older state would seal a second message with the
//     same key.
//   - After the first message of an inbound session opened, call [Account.Consume] and save account, session and text in one
//     transaction. Until then nothing is used up, so a crash loses nothing.
//   - A session that was deleted forgets which messages it opened. A first message to a fallback key can then be opened again by
//     a new session: who deletes sessions has to remember the hashes of the bodies it took.
package olm

import (
	"crypto/ecdh"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
)

// The two types of message on the wire (contract letters 2.1).
const (
	TypePreKey = 0 // begins a session and repeats its keys until the peer has answered
	TypeNormal = 1
)

// Limits. Those of the ratchet are vodozemac's (contract letters 2.1): a wider one would accept what the peer's side cannot.
const (
	MaxOneTimeKeys = 5000    // private one-time keys an account stores
	MaxChains      = 5       // receiving chains a session remembers: how many turns back a late message may come from
	MaxSkipped     = 40      // message keys kept per receiving chain for messages that come late
	MaxGap         = 2000    // messages that may be missing before the one that is opened
	MaxBody        = 4 << 20 // characters of a message body
)

// What can be wrong with a message, a key or a pickle. Errors are these, wrapped with detail that holds no secret.
var (
	ErrMalformed = errors.New("olm: malformed")                       // not a message, key or pickle of this protocol
	ErrTooLong   = errors.New("olm: message is too long")             // its body has more than MaxBody characters
	ErrForged    = errors.New("olm: does not authenticate")           // wrong keys or changed on the way
	ErrUsed      = errors.New("olm: message key is used or given up") // a replay, or a message that comes too late
	ErrGap       = errors.New("olm: too many messages are missing")   // more than MaxGap
	ErrWeakKey   = errors.New("olm: key of low order")                // the shared secret would be known to everyone
	ErrNoKey     = errors.New("olm: unknown one-time key")            // already used, or never this account's
	ErrMismatch  = errors.New("olm: message of another session")      // its keys are not this session's, or not this sender's
	ErrFull      = errors.New("olm: too many one-time keys")          // MaxOneTimeKeys would be passed
	ErrUnproven  = errors.New("olm: session has opened no message")   // an inbound session before its first message
)

// key is a curve25519 or ed25519 public key, or a secret of 32 bytes.
type key [32]byte

func (k key) String() string { return base64.RawStdEncoding.EncodeToString(k[:]) }

// pair is a curve25519 key pair. The public half is stored, since computing it for each of thousands of keys at every load would be slow.
type pair struct{ secret, public key }

func newPair(rand io.Reader) (pair, error) {
	var p pair
	if _, err := io.ReadFull(rand, p.secret[:]); err != nil {
		return pair{}, fmt.Errorf("olm: random bytes: %w", err)
	}
	return p, p.publish()
}

// publish computes the public half.
func (p *pair) publish() error {
	k, err := ecdh.X25519().NewPrivateKey(p.secret[:])
	if err != nil {
		return fmt.Errorf("%w: secret key: %w", ErrMalformed, err)
	}
	copy(p.public[:], k.PublicKey().Bytes())
	return nil
}

// shared is the secret that p and theirs agree on.
func (p *pair) shared(theirs key) ([]byte, error) {
	mine, err := ecdh.X25519().NewPrivateKey(p.secret[:])
	if err != nil {
		return nil, fmt.Errorf("%w: secret key: %w", ErrMalformed, err)
	}
	public, err := ecdh.X25519().NewPublicKey(theirs[:])
	if err != nil {
		return nil, fmt.Errorf("%w: public key: %w", ErrMalformed, err)
	}
	secret, err := mine.ECDH(public)
	if err != nil { // the only cause is an all-zero result
		return nil, ErrWeakKey
	}
	return secret, nil
}

// derive is HKDF-SHA256.
func derive(secret, salt []byte, info string, n int) []byte {
	out, err := hkdf.Key(sha256.New, secret, salt, info, n)
	if err != nil {
		panic("olm: " + err.Error()) // only for lengths above 8160, and all are constants
	}
	return out
}

// parseKey reads a public key. Padding is accepted, as by vodozemac.
func parseKey(text string) (key, error) {
	b, err := decode64(text)
	if err != nil || len(b) != len(key{}) {
		return key{}, fmt.Errorf("%w: a key is 32 bytes in base64", ErrMalformed)
	}
	return key(b), nil
}

// decode64 reads standard base64 with or without padding, and nothing looser: the encoder's own tolerance of line breaks and
// stray bits would give one message several texts.
func decode64(text string) ([]byte, error) {
	if strings.ContainsAny(text, "\r\n") {
		return nil, fmt.Errorf("%w: base64", ErrMalformed)
	}
	enc := base64.RawStdEncoding
	if strings.HasSuffix(text, "=") {
		enc = base64.StdEncoding
	}
	b, err := enc.Strict().DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%w: base64", ErrMalformed)
	}
	return b, nil
}
