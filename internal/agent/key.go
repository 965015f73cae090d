package agent

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
)

// KeyPrefix marks an agent's API key (bridge 1.1).
const KeyPrefix = "ak_"

const lookupLen = 16 // hex characters: 64 random bits

// Key is an API key as it is stored: the part that finds it, and a keyed hash of the whole.
type Key struct {
	Prefix string
	Hash   []byte
}

// NewKey makes a key `ak_<lookup>_<secret>`: the text is shown once, the Key is stored.
func NewKey(hashKey []byte) (text string, k Key) {
	lookup, secret := make([]byte, lookupLen/2), make([]byte, 32)
	_, _ = rand.Read(lookup)
	_, _ = rand.Read(secret)
	k.Prefix = hex.EncodeToString(lookup)
	text = KeyPrefix + k.Prefix + "_" + base64.RawURLEncoding.EncodeToString(secret)
	k.Hash = HashKey(hashKey, text)
	return text, k
}

// HashKey is HMAC-SHA256 under the server's own key: cheap, since the exchange is
// made on every turn of a command line agent, and useless to whoever reads only
// the table.
func HashKey(hashKey []byte, text string) []byte {
	m := hmac.New(sha256.New, hashKey)
	m.Write([]byte(text))
	return m.Sum(nil)
}

// Lookup gives the part of a key that finds its row; ok is false when it has not the form of a key.
func Lookup(text string) (prefix string, ok bool) {
	rest, ok := strings.CutPrefix(text, KeyPrefix)
	if !ok || len(rest) < lookupLen+2 || rest[lookupLen] != '_' {
		return "", false
	}
	return rest[:lookupLen], true
}
