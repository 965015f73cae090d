package relay_test

import (
	"testing"

	"github.com/agntchat/agntchat/internal/relay/relaytest"
)

// BenchmarkSend is one signed letter over HTTP into Postgres, and its collection
// every hundredth time.
func BenchmarkSend(b *testing.B) {
	p := open(b)
	a, to := p.user(0), p.user(0)
	for n := 0; b.Loop(); n++ {
		p.send(a, to, relaytest.RandomBody(350))
		if n%100 == 99 {
			p.bodies(to, "")
		}
	}
}
