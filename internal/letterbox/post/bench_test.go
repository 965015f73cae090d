package post_test

import (
	"log/slog"
	"testing"

	"github.com/agntchat/agntchat/internal/letterbox/post"
	"github.com/agntchat/agntchat/internal/letterbox/retalktest"
	"github.com/agntchat/agntchat/internal/letterbox/store"
)

// BenchmarkLetter is one letter from outbox to hand-over and acknowledgement, with both stores on disk and a relay in memory.
func BenchmarkLetter(b *testing.B) {
	r := retalktest.New(b)
	var people []*post.Box
	for range 2 {
		s, err := post.Create(b.Context(), b.TempDir(), store.Passphrase{}, store.Cost{}, store.Identity{}, "")
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = s.Close() }()
		p, err := post.Open(b.Context(), post.Config{Store: s, Book: store.OpenBook(b.TempDir()), Relay: r.URL, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Sync(b.Context(), post.ResendNone); err != nil {
			b.Fatal(err)
		}
		people = append(people, p)
	}
	alice, bob := people[0], people[1]
	b.ResetTimer()
	for range b.N {
		if _, err := alice.Send(b.Context(), bob.Me().Address, "a letter", false); err != nil {
			b.Fatal(err)
		}
	}
	got := 0
	if _, err := bob.Poll(b.Context(), post.ReceiveOptions{Peers: []string{alice.Me().Address}}, func(post.Letter) error { got++; return nil }); err != nil {
		b.Fatal(err)
	}
	if got != b.N {
		b.Fatalf("%d of %d letters", got, b.N)
	}
}
