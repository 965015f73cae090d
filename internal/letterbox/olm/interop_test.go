package olm_test

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	mrand "math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/letterbox/olm"
	"github.com/agntchat/agntchat/internal/letterbox/olmtest"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

func unpadded(body string) string { return strings.TrimRight(body, "=") }

func TestL2_InteropOursBegins(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *pair) {
		p.beginOurs(t, p.claim(t))
		p.send(t, "first", olm.TypePreKey)
		p.send(t, "second, before an answer", olm.TypePreKey)
		p.receive(t, "an answer", olm.TypeNormal)
		p.send(t, "normal from here on", olm.TypeNormal)
		p.receive(t, "你好 🦉 \x00\u2028", olm.TypeNormal)
		p.receive(t, "and once more", olm.TypeNormal)
		p.send(t, strings.Repeat("long ", 40_000), olm.TypeNormal)
		p.receive(t, strings.Repeat("länger ", 40_000), olm.TypeNormal)
		if l, ok := p.foreign.(*libolmPeer); ok && l.newest().ID != p.session.ID() {
			t.Fatalf("the session is %s there and %s here", l.newest().ID, p.session.ID())
		}
	})
}

func TestL2_InteropTheirsBegins(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *pair) {
		key := claim(t, p.ours)
		p.begin(t, key, false)
		first := p.receive(t, "first", olm.TypePreKey)
		if n := p.ours.StoredOneTimeKeys(); n != 0 {
			t.Fatalf("%d one-time keys left, want none", n)
		}
		p.receive(t, "second, before an answer", olm.TypePreKey)
		p.send(t, "an answer", olm.TypeNormal)
		p.receive(t, "normal from here on", olm.TypeNormal)
		p.send(t, "and once more", olm.TypeNormal)
		if _, err := p.ours.Inbound(p.curve(), first.body); !errors.Is(err, olm.ErrNoKey) {
			t.Fatalf("a one-time key works once: %v", err)
		}
		if l, ok := p.foreign.(*libolmPeer); ok && l.newest().ID != p.session.ID() {
			t.Fatalf("the session is %s there and %s here", l.newest().ID, p.session.ID())
		}
	})
}

func TestL2_InteropOutOfOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *pair) {
		p.beginOurs(t, p.claim(t))
		p.send(t, "hello", olm.TypePreKey)
		p.receive(t, "hello", olm.TypeNormal)
		for range 3 { // each round on new chains
			var ours, theirs []letter
			for i := range 30 {
				ours = append(ours, p.sealOurs(t, strconv.Itoa(i)))
				theirs = append(theirs, p.seal(t, strconv.Itoa(i)))
			}
			for _, i := range mrand.Perm(30) {
				p.arrives(t, ours[i], strconv.Itoa(i))
				p.comes(t, theirs[i], strconv.Itoa(i))
			}
		}
		// One letter overtaken by a turn of the ratchet on both sides.
		lateOurs, lateTheirs := p.sealOurs(t, "late"), p.seal(t, "late")
		p.send(t, "ours", olm.TypeNormal)
		p.receive(t, "theirs", olm.TypeNormal)
		p.send(t, "ours", olm.TypeNormal)
		p.receive(t, "theirs", olm.TypeNormal)
		p.arrives(t, lateOurs, "late")
		p.comes(t, lateTheirs, "late")
	})
}

// TestL2_InteropReplay: the message that was opened is refused on both sides and harms nothing.
func TestL2_InteropReplay(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *pair) {
		p.beginOurs(t, p.claim(t))
		preKey := p.send(t, "pre-key", olm.TypePreKey)
		normal := p.receive(t, "normal", olm.TypeNormal)
		again := p.receive(t, "normal", olm.TypeNormal)
		for _, l := range []letter{normal, again} {
			if text, err := p.openOurs(l); !errors.Is(err, olm.ErrUsed) {
				t.Fatalf("we opened a replay: %q, %v", text, err)
			}
		}
		ours := p.send(t, "normal", olm.TypeNormal)
		for _, l := range []letter{preKey, ours} {
			if text, err := p.open(t, l); err == nil {
				t.Fatalf("they opened a replay: %q", text)
			}
		}
		p.send(t, "and on", olm.TypeNormal)
		p.receive(t, "and on", olm.TypeNormal)
	})
}

func TestL2_InteropReplayOfPreKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *pair) {
		p.begin(t, claim(t, p.ours), false)
		l := p.receive(t, "pre-key", olm.TypePreKey)
		if text, err := p.openOurs(l); !errors.Is(err, olm.ErrUsed) {
			t.Fatalf("we opened a replay: %q, %v", text, err)
		}
		p.receive(t, "and on", olm.TypePreKey)
	})
}

func TestL2_InteropTheirFallbackKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *pair) {
		key := p.fallback(t)
		p.beginOurs(t, key)
		p.send(t, "to the fallback key", olm.TypePreKey)
		p.receive(t, "an answer", olm.TypeNormal)
		p.fallback(t)
		p.beginOurs(t, key)
		p.send(t, "to the fallback key before", olm.TypePreKey)
		p.receive(t, "an answer", olm.TypeNormal)
	})
}

func TestL2_InteropOurFallbackKey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *pair) {
		if err := p.ours.GenerateFallbackKey(rand.Reader); err != nil {
			t.Fatal(err)
		}
		p.begin(t, fallbackOf(t, p.ours), true)
		if err := p.ours.GenerateFallbackKey(rand.Reader); err != nil {
			t.Fatal(err)
		}
		p.receive(t, "to the fallback key before", olm.TypePreKey)
		p.send(t, "an answer", olm.TypeNormal)
		p.receive(t, "and on", olm.TypeNormal)
	})
}

func fallbackOf(t testing.TB, a *olm.Account) string {
	t.Helper()
	keys, _ := a.FallbackKey()
	for _, k := range keys {
		return k
	}
	t.Fatal("no fallback key")
	return ""
}

// TestL2_InteropCrossed: both begin at the same time, and both sessions serve.
func TestL2_InteropCrossed(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *pair) {
		p.beginOurs(t, p.claim(t))
		p.begin(t, claim(t, p.ours), false)
		begun := p.session
		ours, theirs := p.sealOurs(t, "ours"), p.seal(t, "theirs")
		p.comes(t, theirs, "theirs")
		p.arrives(t, ours, "ours")
		if p.session == begun {
			t.Fatal("their message belongs to a session of its own")
		}
		p.send(t, "in the session they began", olm.TypeNormal)
	})
}

// TestL2_InteropTenThousand: a long conversation in rounds. In each, both sides write without having read the other's letters
// of that round; these come in any order, some never, and our session is saved and restored.
func TestL2_InteropTenThousand(t *testing.T) {
	t.Parallel()
	const total, most = 10_000, 15
	each(t, func(t *testing.T, p *pair) {
		seed := seedOf(t)
		rng := mrand.New(mrand.NewPCG(seed, 0))
		p.beginOurs(t, p.claim(t))
		p.send(t, "begin", olm.TypePreKey)
		p.receive(t, "begin", olm.TypeNormal)
		for came, written := 0, 0; came < total; {
			var ours, theirs []letter
			texts := map[letter]string{}
			for range 1 + rng.IntN(2*most) {
				text := fmt.Sprintf("letter %d", written)
				written++
				var l letter
				if rng.IntN(2) == 0 {
					l = p.sealOurs(t, text)
					ours = append(ours, l)
				} else {
					l = p.seal(t, text)
					theirs = append(theirs, l)
				}
				texts[l] = text
			}
			ours, theirs = deliver(rng, ours), deliver(rng, theirs)
			for i, text := range p.openAll(t, ours) {
				if text != texts[ours[i]] {
					t.Fatalf("they opened %q, want %q", text, texts[ours[i]])
				}
			}
			for _, l := range theirs {
				p.comes(t, l, texts[l])
			}
			came += len(ours) + len(theirs)
			p.session = copied(t, p.session)
		}
	})
}

// deliver loses some letters and gives the others in any order.
func deliver(rng *mrand.Rand, list []letter) []letter {
	var come []letter
	for _, i := range rng.Perm(len(list)) {
		if rng.IntN(20) > 0 {
			come = append(come, list[i])
		}
	}
	return come
}

// seedOf chooses, or repeats with AGNTCHAT_OLM_SEED, what a test leaves to chance.
func seedOf(t testing.TB) uint64 {
	t.Helper()
	seed := mrand.Uint64()
	if text := os.Getenv("AGNTCHAT_OLM_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("AGNTCHAT_OLM_SEED=%d", seed)
	return seed
}

func TestL2_InteropSignatures(t *testing.T) {
	t.Parallel()
	c, ours := olmtest.Libolm(t), account(t)
	const text = "nack|id|hash"
	c.Ask(t, olmtest.Request{"op": "verify", "ed": ours.Ed(), "text": text, "signature": ours.Sign([]byte(text))})
	if _, err := c.Try(t, olmtest.Request{"op": "verify", "ed": ours.Ed(), "text": text + "x", "signature": ours.Sign([]byte(text))}); err == nil {
		t.Fatal("libolm checks nothing")
	}
	theirs := c.Ask(t, olmtest.Request{"op": "account"})
	signature := c.Ask(t, olmtest.Request{"op": "sign", "n": theirs.N, "text": text}).Signature
	if ok, err := wire.Verify(theirs.Ed, []byte(text), signature); !ok || err != nil {
		t.Fatalf("a signature of libolm: %v, %v", ok, err)
	}
}

// TestL2_ImportFromLibolm: an account and its sessions move from libolm to us in the middle of a conversation.
func TestL2_ImportFromLibolm(t *testing.T) {
	t.Parallel()
	c, ours := olmtest.Libolm(t), account(t)
	p := &pair{ours: ours, foreign: newLibolmPeer(t, c, ours)}
	theirs := p.foreign.(*libolmPeer)
	oneTime := theirs.claim(t)
	oldFallback := theirs.fallback(t)
	newFallback := theirs.fallback(t)

	p.beginOurs(t, theirs.claim(t))
	p.send(t, "hello", olm.TypePreKey)
	p.receive(t, "hello", olm.TypeNormal)
	late := []letter{p.sealOurs(t, "late 0"), p.sealOurs(t, "late 1")}
	p.send(t, "in time", olm.TypeNormal)

	second := theirs.claim(t)
	unpublished := c.Ask(t, olmtest.Request{"op": "one_time", "n": theirs.account.N, "count": 1, "publish": false}).Keys[0]
	const key = "pickle key"
	move := func(op string, n int) string { return c.Ask(t, olmtest.Request{"op": op, "n": n, "key": key}).Pickle }
	moved, err := olm.UnpickleLibolm(move("pickle", theirs.account.N), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	if moved.Curve() != theirs.account.Curve || moved.Ed() != theirs.account.Ed || moved.StoredOneTimeKeys() != 3 {
		t.Fatalf("moved to %s, %s with %d keys", moved.Curve(), moved.Ed(), moved.StoredOneTimeKeys())
	}
	c.Ask(t, olmtest.Request{"op": "verify", "ed": moved.Ed(), "text": "signed after the move", "signature": moved.Sign([]byte("signed after the move"))})
	movedKeepsPickling(t, moved)
	if keys := moved.OneTimeKeys(); len(keys) != 1 || !has(keys, unpublished) {
		t.Fatalf("unpublished: %v", keys)
	}
	for _, sending := range []bool{false, true} { // with the ratchet in either position
		if sending {
			p.receive(t, "their turn", olm.TypeNormal)
		}
		s, err := moved.UnpickleLibolmSession(move("pickle", theirs.newest().N), []byte(key))
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range late {
			open(t, s, l, fmt.Sprintf("late %d", i))
		}
		open(t, s, p.sealOurs(t, "after the move"), "after the move")
		p.comes(t, seal(t, s, "an answer"), "an answer")
		if _, err := p.open(t, p.sealOurs(t, "to the session that stayed")); err == nil {
			t.Fatal("the ratchet went on without the session that stayed")
		}
		if sending {
			break
		}
		// Begin anew for the other position.
		p.beginOurs(t, theirs.claim(t))
		p.send(t, "hello", olm.TypePreKey)
		p.receive(t, "hello", olm.TypeNormal)
		late = []letter{p.sealOurs(t, "late 0"), p.sealOurs(t, "late 1")}
		p.send(t, "in time", olm.TypeNormal)
	}
	if n := moved.ForgetOneTimeKeys(1); n != 1 {
		t.Fatalf("forgot %d", n)
	}
	gone, err := ours.Outbound(rand.Reader, moved.Curve(), oneTime)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := moved.Inbound(ours.Curve(), seal(t, gone, "x").body); !errors.Is(err, olm.ErrNoKey) {
		t.Fatalf("another key than the oldest was forgotten: %v", err)
	}
	for _, k := range []string{second, oldFallback, newFallback, unpublished} {
		s, err := ours.Outbound(rand.Reader, moved.Curve(), k)
		if err != nil {
			t.Fatal(err)
		}
		inbound(t, moved, ours, seal(t, s, "to an old key"), "to an old key")
	}
	if _, err := olm.UnpickleLibolm(move("pickle", theirs.account.N), []byte("another")); !errors.Is(err, olm.ErrForged) {
		t.Fatalf("a wrong key: %v", err)
	}
	began := c.Ask(t, olmtest.Request{"op": "outbound", "n": theirs.account.N, "curve": ours.Curve(), "key": claim(t, ours)})
	s, err := moved.UnpickleLibolmSession(move("pickle", began.N), []byte(key))
	if err != nil {
		t.Fatal(err)
	}
	p.session = inbound(t, ours, moved, seal(t, s, "begun before the move"), "begun before the move")
	open(t, s, seal(t, p.session, "an answer"), "an answer")
}

func has(keys map[string]string, public string) bool {
	for _, k := range keys {
		if k == public {
			return true
		}
	}
	return false
}

// movedKeepsPickling: an imported account lives on in our own form.
func movedKeepsPickling(t testing.TB, a *olm.Account) {
	t.Helper()
	key := make([]byte, olm.PickleKeySize)
	pickle, err := a.Pickle(rand.Reader, key)
	if err != nil {
		t.Fatal(err)
	}
	again, err := olm.UnpickleAccount(pickle, key)
	if err != nil {
		t.Fatal(err)
	}
	if again.Curve() != a.Curve() || again.Ed() != a.Ed() || again.Sign([]byte("x")) != a.Sign([]byte("x")) || again.StoredOneTimeKeys() != a.StoredOneTimeKeys() {
		t.Fatal("an imported account changes in our own form")
	}
}

// TestL2_ImportFromVodozemac: the same with vodozemac's own serialisation, in the envelope that TestL2_ImportFromLibolm opens.
func TestL2_ImportFromVodozemac(t *testing.T) {
	t.Parallel()
	c, ours := olmtest.Vodozemac(t), account(t)
	theirs := newVodozemacPeer(t, c, ours, true)
	p := &pair{ours: ours, foreign: theirs}
	fallback := theirs.fallback(t)
	oneTime := theirs.claim(t)
	p.beginOurs(t, theirs.claim(t))
	p.send(t, "hello", olm.TypePreKey)
	p.receive(t, "hello", olm.TypeNormal)
	late := p.sealOurs(t, "late")
	p.send(t, "in time", olm.TypeNormal)

	key := sha256.Sum256([]byte("passphrase"))
	for _, sending := range []bool{false, true} {
		if sending {
			p.receive(t, "their turn", olm.TypeNormal)
		}
		pickles := c.Ask(t, olmtest.Request{"op": "pickles", "n": theirs.account.N})
		moved, err := olm.UnpickleLibolm(olmtest.Envelope(t, pickles.Account, key[:]), key[:])
		if err != nil {
			t.Fatal(err)
		}
		if moved.Curve() != theirs.account.Curve || moved.Ed() != theirs.account.Ed || moved.StoredOneTimeKeys() != 49 {
			t.Fatalf("moved to %s, %s with %d keys", moved.Curve(), moved.Ed(), moved.StoredOneTimeKeys())
		}
		movedKeepsPickling(t, moved)
		if len(pickles.Sessions) != 1 {
			t.Fatalf("%d sessions", len(pickles.Sessions))
		}
		mine := copied(t, p.session) // the conversation goes on twice
		s, err := moved.UnpickleLibolmSession(olmtest.Envelope(t, pickles.Sessions[0], key[:]), key[:])
		if err != nil {
			t.Fatal(err)
		}
		if s.ID() != mine.ID() || !s.Received() {
			t.Fatal("another session")
		}
		open(t, s, late, theirs.wrap("late"))
		open(t, s, seal(t, mine, "after the move"), "after the move")
		open(t, mine, seal(t, s, "an answer"), "an answer")
		for _, k := range []string{fallback, oneTime} {
			s, err := ours.Outbound(rand.Reader, moved.Curve(), k)
			if err != nil {
				t.Fatal(err)
			}
			inbound(t, moved, ours, seal(t, s, "to an old key"), "to an old key")
		}
	}
}

func copied(t testing.TB, s *olm.Session) *olm.Session {
	t.Helper()
	key := make([]byte, olm.PickleKeySize)
	pickle, err := s.Pickle(rand.Reader, key)
	if err != nil {
		t.Fatal(err)
	}
	again, err := olm.UnpickleSession(pickle, key)
	if err != nil {
		t.Fatal(err)
	}
	return again
}
