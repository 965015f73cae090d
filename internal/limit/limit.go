// Package limit holds rate limits in process memory (M1): token buckets by key,
// bounded in number. A restart forgets them, which is accepted on one node.
package limit

import (
	"crypto/sha256"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Buckets is a set of token buckets with one rate. Safe for concurrent use.
type Buckets struct {
	every rate.Limit
	burst int
	most  int

	mu  sync.Mutex
	set map[string]*bucket
}

type bucket struct {
	lim  *rate.Limiter
	used time.Time
}

// Origin is the key of a client's network address: of IPv6 the /64, which is what one
// customer has. What is no address is "unknown".
func Origin(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return "unknown"
	}
	if a = a.Unmap(); a.Is6() {
		return netip.PrefixFrom(a.WithZone(""), 64).Masked().String()
	}
	return a.String()
}

// New makes buckets that refill at perSecond tokens and hold burst; at most
// `most` keys are remembered, the idle ones are forgotten first.
func New(perSecond float64, burst, most int) *Buckets {
	return &Buckets{every: rate.Limit(perSecond), burst: burst, most: most, set: make(map[string]*bucket)}
}

// Take uses one token of key. When there is none it tells how long to wait.
func (b *Buckets) Take(key string) (wait time.Duration, ok bool) {
	now := time.Now()
	r := b.get(key, now).ReserveN(now, 1)
	if d := r.DelayFrom(now); d > 0 {
		r.CancelAt(now)
		return d, false
	}
	return 0, true
}

// Peek tells whether a token is left without using it: for limits that count only failures.
func (b *Buckets) Peek(key string) (wait time.Duration, ok bool) {
	now := time.Now()
	if b.get(key, now).TokensAt(now) >= 1 {
		return 0, true
	}
	return time.Duration(float64(time.Second) / float64(b.every)), false
}

// longest is how long a remembered key may be: whoever asks may choose it, as with an
// address at the login, and must not choose how much we remember.
const longest = 128

func (b *Buckets) get(key string, now time.Time) *rate.Limiter {
	if len(key) > longest {
		sum := sha256.Sum256([]byte(key))
		key = string(sum[:])
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e := b.set[key]
	if e == nil {
		if len(b.set) >= b.most {
			b.forget(now)
		}
		e = &bucket{lim: rate.NewLimiter(b.every, b.burst)}
		b.set[key] = e
	}
	e.used = now
	return e.lim
}

// forget drops full buckets, which lose nothing, and if none is full the longest idle one.
func (b *Buckets) forget(now time.Time) {
	var oldest string
	var at time.Time
	for k, e := range b.set {
		if e.lim.TokensAt(now) >= float64(b.burst) {
			delete(b.set, k)
			continue
		}
		if oldest == "" || e.used.Before(at) {
			oldest, at = k, e.used
		}
	}
	if len(b.set) >= b.most {
		delete(b.set, oldest)
	}
}
