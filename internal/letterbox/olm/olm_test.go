package olm_test

import (
	"crypto/rand"
	"testing"

	"github.com/agntchat/agntchat/internal/letterbox/olm"
)

func account(t testing.TB) *olm.Account {
	t.Helper()
	a, err := olm.NewAccount(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// claim makes one one-time key of a, publishes it and takes it.
func claim(t testing.TB, a *olm.Account) string {
	t.Helper()
	if err := a.GenerateOneTimeKeys(rand.Reader, 1); err != nil {
		t.Fatal(err)
	}
	keys := a.OneTimeKeys()
	a.MarkPublished()
	for _, k := range keys {
		return k
	}
	t.Fatal("no key")
	return ""
}

func outbound(t testing.TB, from, to *olm.Account) *olm.Session {
	t.Helper()
	s, err := from.Outbound(rand.Reader, to.Curve(), claim(t, to))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type letter struct {
	typ  int
	body string
}

func seal(t testing.TB, s *olm.Session, text string) letter {
	t.Helper()
	typ, body, err := s.Encrypt(rand.Reader, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return letter{typ, body}
}

func open(t testing.TB, s *olm.Session, l letter, want string) {
	t.Helper()
	plain, err := s.Decrypt(l.typ, l.body)
	if err != nil || string(plain) != want {
		t.Fatalf("opened %q, %v; want %q", plain, err, want)
	}
}

func inbound(t testing.TB, to, from *olm.Account, l letter, want string) *olm.Session {
	t.Helper()
	s, err := to.Inbound(from.Curve(), l.body)
	if err != nil {
		t.Fatal(err)
	}
	open(t, s, l, want)
	return s
}

func TestL2_OlmConversation(t *testing.T) {
	t.Parallel()
	alice, bob := account(t), account(t)
	a := outbound(t, alice, bob)
	b := inbound(t, bob, alice, seal(t, a, "first"), "first")
	if !bob.Consume(b) || a.ID() != b.ID() {
		t.Fatal("the key is used up and the session has one name")
	}
	second := seal(t, a, "second")
	if second.typ != olm.TypePreKey || !b.Matches(second.body) {
		t.Fatal("before an answer every message repeats the keys")
	}
	open(t, b, second, "second")
	for range 20 {
		open(t, a, seal(t, b, "reply"), "reply")
		open(t, b, seal(t, a, ""), "")
	}
}
