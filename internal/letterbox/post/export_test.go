package post

import "time"

// Patience sets how long another process may hold letters.
func (b *Box) Patience(d time.Duration) { b.patience = d }

// DecodeEnvelope is decodeEnvelope for the fuzzer.
func DecodeEnvelope(plain []byte) bool {
	e, ok := decodeEnvelope(plain)
	_ = e.Group.usable()
	return ok
}
