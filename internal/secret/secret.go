// Package secret seals stored credentials (envelope encryption with a key ring)
// and derives the server's other keys from the same persisted master key. It
// stores nothing itself.
package secret

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

const (
	version  = 1
	keySize  = 32
	idSize   = 4
	nonceLen = 12
	tagLen   = 16
)

// ErrUnsealable says that no key of the ring opens the value, or it was altered.
var ErrUnsealable = errors.New("secret: cannot be opened with the configured keys")

// Ring is the ordered set of master keys: the first seals, all open.
type Ring struct{ keys []masterKey }

type masterKey struct {
	id  [idSize]byte
	raw []byte
}

// Generate makes a new master key in the form ParseRing reads.
func Generate() string {
	b := make([]byte, keySize)
	_, _ = rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

// ParseRing reads comma-separated base64 keys of 32 bytes, newest first.
func ParseRing(s string) (*Ring, error) {
	r := &Ring{}
	for part := range strings.SplitSeq(s, ",") {
		raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(part), "="))
		if err != nil || len(raw) != keySize {
			return nil, fmt.Errorf("secret key %d: want %d bytes in base64url", len(r.keys)+1, keySize)
		}
		k := masterKey{raw: raw}
		sum := sha256.Sum256(raw)
		copy(k.id[:], sum[:])
		r.keys = append(r.keys, k)
	}
	return r, nil
}

// Derive gives one purpose's 32-byte key of the newest master key (HKDF-SHA256, RFC 5869).
func (r *Ring) Derive(purpose string) []byte { return derive(r.keys[0].raw, purpose) }

// DeriveAll gives the purpose's keys of all master keys, newest first.
func (r *Ring) DeriveAll(purpose string) [][]byte {
	out := make([][]byte, len(r.keys))
	for n, k := range r.keys {
		out[n] = derive(k.raw, purpose)
	}
	return out
}

func derive(raw []byte, purpose string) []byte {
	k, err := hkdf.Key(sha256.New, raw, nil, "agntchat "+purpose, keySize)
	if err != nil {
		panic("secret: hkdf with fixed sizes cannot fail: " + err.Error())
	}
	return k
}

// Seal encrypts plain under a fresh data key, itself wrapped by the newest master
// key. The purpose (for example "llm_key:<row id>") is authenticated: a value moved
// to another row does not open.
func (r *Ring) Seal(purpose string, plain []byte) []byte {
	k := r.keys[0]
	dek := make([]byte, keySize)
	_, _ = rand.Read(dek)
	out := append([]byte{version}, k.id[:]...)
	out = append(out, seal(derive(k.raw, "seal"), dek, purpose)...)
	return append(out, seal(dek, plain, purpose)...)
}

// Open reverses Seal with any key of the ring; stale reports that an old key was used and the value should be sealed anew.
func (r *Ring) Open(purpose string, sealed []byte) (plain []byte, stale bool, err error) {
	const wrapped = nonceLen + keySize + tagLen
	if len(sealed) < 1+idSize+wrapped || sealed[0] != version {
		return nil, false, ErrUnsealable
	}
	for n, k := range r.keys {
		if !hmac.Equal(k.id[:], sealed[1:1+idSize]) {
			continue
		}
		body := sealed[1+idSize:]
		dek, err := open(derive(k.raw, "seal"), body[:wrapped], purpose)
		if err != nil {
			return nil, false, ErrUnsealable
		}
		plain, err := open(dek, body[wrapped:], purpose)
		if err != nil {
			return nil, false, ErrUnsealable
		}
		return plain, n > 0, nil
	}
	return nil, false, ErrUnsealable
}

func aead(key []byte) cipher.AEAD {
	b, err := aes.NewCipher(key)
	if err != nil {
		panic("secret: key size is fixed: " + err.Error())
	}
	g, err := cipher.NewGCM(b)
	if err != nil {
		panic("secret: gcm: " + err.Error())
	}
	return g
}

func seal(key, plain []byte, aad string) []byte {
	nonce := make([]byte, nonceLen)
	_, _ = rand.Read(nonce)
	return aead(key).Seal(nonce, nonce, plain, []byte(aad))
}

func open(key, box []byte, aad string) ([]byte, error) {
	if len(box) < nonceLen+tagLen {
		return nil, ErrUnsealable
	}
	return aead(key).Open(nil, box[:nonceLen], box[nonceLen:], []byte(aad))
}

// Fingerprint is a short name for a secret that tells nothing of it.
func (r *Ring) Fingerprint(plain []byte) string {
	m := hmac.New(sha256.New, r.Derive("fingerprint"))
	m.Write(plain)
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))[:10]
}
