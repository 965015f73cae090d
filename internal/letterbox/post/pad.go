package post

import (
	"context"
	"encoding/json"
	"fmt"
	"math/bits"
	"strings"

	"github.com/agntchat/agntchat/internal/letterbox/store"
)

// Sizes of filled envelopes in bytes (contract letters 8.1, 17): powers of two from minPadded to stepPadded, above that multiples
// of stepPadded. What a relay sees of a letter is its bucket; an acknowledgement looks like a short letter.
const (
	minPadded  = 512
	stepPadded = 64 << 10
)

// padMember is what a member `pad` adds beside its text.
const padMember = len(`,"pad":""`)

// bucket is the size that n bytes are filled up to.
func bucket(n int) int {
	switch {
	case n <= minPadded:
		return minPadded
	case n <= stepPadded:
		return 1 << bits.Len(uint(n-1))
	}
	return (n + stepPadded - 1) / stepPadded * stepPadded
}

// pack writes an envelope for a peer, filled up unless that is turned off. Errors: [ErrTooLong].
func (b *Box) pack(ctx context.Context, peer string, e envelope) ([]byte, error) {
	plain, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	if len(plain) > maxEnvelope {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLong, len(plain), maxEnvelope)
	}
	on := false
	err = b.store.Tx(ctx, func(tx *store.Tx) (err error) {
		on, err = tx.Padding(peer)
		return err
	})
	if err != nil || !on || len(plain) == bucket(len(plain)) {
		return plain, err
	}
	size := bucket(len(plain) + padMember + 1) // an empty member would be left out
	e.Pad = strings.Repeat(" ", size-len(plain)-padMember)
	return json.Marshal(e)
}
