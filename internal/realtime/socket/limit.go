package socket

import "time"

// bucket is a token bucket that goes into debt: a refused event also costs, so
// that a client which never pauses runs up to -floor and can be told apart from
// one that only burst. It is used by the reader goroutine alone.
type bucket struct {
	rate, burst, tokens float64
	last                time.Time
}

func newBucket(rate, burst float64) bucket {
	return bucket{rate: rate, burst: burst, tokens: burst}
}

// take spends one token. It reports whether the event is allowed and whether
// the debt has reached twice the burst.
func (b *bucket) take(now time.Time) (allowed, flood bool) {
	if !b.last.IsZero() {
		b.tokens = min(b.burst, b.tokens+now.Sub(b.last).Seconds()*b.rate)
	}
	b.last = now
	b.tokens--
	return b.tokens >= 0, b.tokens < -2*b.burst
}
