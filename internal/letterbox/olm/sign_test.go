package olm

import (
	"bytes"
	"crypto/sha512"
	"testing"
)

// TestL2_ExpandedKeySignsAsItsSeed: the key that libolm keeps is what the seed of vodozemac expands to, and signatures are
// determined by key and message.
func TestL2_ExpandedKeySignsAsItsSeed(t *testing.T) {
	t.Parallel()
	r := chance(8)
	for n := range 50 {
		var seed key
		_, _ = r.Read(seed[:]) // never fails
		message := make([]byte, n*7)
		_, _ = r.Read(message)
		normal := newSigner(seed)
		expanded, err := newExpandedSigner(sha512.Sum512(seed[:]))
		if err != nil {
			t.Fatal(err)
		}
		if expanded.public != normal.public || !bytes.Equal(expanded.sign(message), normal.sign(message)) {
			t.Fatalf("seed %x", seed)
		}
	}
}
