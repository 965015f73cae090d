package olm_test

import (
	"crypto/rand"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/letterbox/olm"
)

var letterText = strings.Repeat("x", 1000)

// BenchmarkEncrypt seals letters of 1,000 characters in one sending chain.
func BenchmarkEncrypt(b *testing.B) {
	s, _ := talking(b)
	b.SetBytes(int64(len(letterText)))
	for b.Loop() {
		seal(b, s, letterText)
	}
}

// BenchmarkDecrypt opens letters of 1,000 characters in one receiving chain.
func BenchmarkDecrypt(b *testing.B) {
	s, r := talking(b)
	b.SetBytes(int64(len(letterText)))
	for b.Loop() {
		b.StopTimer()
		l := seal(b, s, letterText)
		b.StartTimer()
		open(b, r, l, letterText)
	}
}

// BenchmarkTurns exchanges letters one by one, so that each turns the ratchet on both sides.
func BenchmarkTurns(b *testing.B) {
	s, r := talking(b)
	for b.Loop() {
		open(b, r, seal(b, s, letterText), letterText)
		s, r = r, s
	}
}

// BenchmarkFirstLetter begins a session, opens its first message and uses up the key.
func BenchmarkFirstLetter(b *testing.B) {
	alice, bob := account(b), account(b)
	for b.Loop() {
		s := outbound(b, alice, bob)
		if !bob.Consume(inbound(b, bob, alice, seal(b, s, letterText), letterText)) {
			b.Fatal("not consumed")
		}
	}
}

// BenchmarkPickleAccount saves and loads an account with 100 one-time keys.
func BenchmarkPickleAccount(b *testing.B) {
	a, key := account(b), make([]byte, olm.PickleKeySize)
	if err := a.GenerateOneTimeKeys(rand.Reader, 100); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		must(olm.UnpickleAccount(must(a.Pickle(rand.Reader, key)), key))
	}
}

// BenchmarkPickleSession saves and loads a session.
func BenchmarkPickleSession(b *testing.B) {
	s, _ := talking(b)
	key := make([]byte, olm.PickleKeySize)
	for b.Loop() {
		s = must(olm.UnpickleSession(must(s.Pickle(rand.Reader, key)), key))
	}
}
