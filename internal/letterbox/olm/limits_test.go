package olm_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/letterbox/olm"
)

// talking is two sessions of one conversation that both have spoken.
func talking(t testing.TB) (a, b *olm.Session) {
	t.Helper()
	alice, bob := account(t), account(t)
	a = outbound(t, alice, bob)
	b = inbound(t, bob, alice, seal(t, a, "hello"), "hello")
	open(t, a, seal(t, b, "hello"), "hello")
	return a, b
}

func seals(t testing.TB, s *olm.Session, n int) []letter {
	t.Helper()
	list := make([]letter, n)
	for i := range list {
		list[i] = seal(t, s, "x")
	}
	return list
}

// TestL2_OneTimeKeysAreNeverEvicted is the trap of contract letters 7.4: topping up may not cost a key that is published.
func TestL2_OneTimeKeysAreNeverEvicted(t *testing.T) {
	t.Parallel()
	alice, bob := account(t), account(t)
	first := claim(t, bob)
	for bob.StoredOneTimeKeys()+100 <= olm.MaxOneTimeKeys {
		if err := bob.GenerateOneTimeKeys(rand.Reader, 100); err != nil {
			t.Fatal(err)
		}
		bob.MarkPublished()
	}
	before := bob.StoredOneTimeKeys()
	if err := bob.GenerateOneTimeKeys(rand.Reader, 100); !errors.Is(err, olm.ErrFull) || bob.StoredOneTimeKeys() != before {
		t.Fatalf("beyond the limit: %v, %d keys", err, bob.StoredOneTimeKeys())
	}
	s, err := alice.Outbound(rand.Reader, bob.Curve(), first)
	if err != nil {
		t.Fatal(err)
	}
	b := inbound(t, bob, alice, seal(t, s, "to the oldest key"), "to the oldest key")
	if !bob.Consume(b) || bob.Consume(b) || bob.StoredOneTimeKeys() != before-1 {
		t.Fatal("a key is consumed once")
	}
}

func TestL2_OneTimeKeysAreForgottenOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	alice, bob := account(t), account(t)
	oldest, newest := claim(t, bob), claim(t, bob)
	if err := bob.GenerateOneTimeKeys(rand.Reader, 1); err != nil {
		t.Fatal(err)
	}
	if n := bob.ForgetOneTimeKeys(2); n != 0 {
		t.Fatalf("forgot %d of two", n)
	}
	if n := bob.ForgetOneTimeKeys(1); n != 1 || len(bob.OneTimeKeys()) != 1 {
		t.Fatalf("forgot %d, unpublished %v", n, bob.OneTimeKeys())
	}
	for k, want := range map[string]error{oldest: olm.ErrNoKey, newest: nil} {
		s, err := alice.Outbound(rand.Reader, bob.Curve(), k)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bob.Inbound(alice.Curve(), seal(t, s, "x").body); !errors.Is(err, want) {
			t.Fatalf("%v, want %v", err, want)
		}
	}
	if n := bob.ForgetOneTimeKeys(-1); n != 1 || bob.StoredOneTimeKeys() != 1 {
		t.Fatalf("forgot %d, %d stay", n, bob.StoredOneTimeKeys())
	}
}

// TestL2_KeyIsUsedUpOnlyByItsOwner: a message that names a key without knowing how to use it costs nothing, and nor does a crash
// between opening and saving.
func TestL2_KeyIsUsedUpOnlyByItsOwner(t *testing.T) {
	t.Parallel()
	alice, bob, mallory := account(t), account(t), account(t)
	s := outbound(t, alice, bob)
	l := seal(t, s, "first")
	forged := must(base64.StdEncoding.DecodeString(l.body))
	forged[len(forged)-1] ^= 1
	f, err := bob.Inbound(alice.Curve(), base64.StdEncoding.EncodeToString(forged))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Decrypt(olm.TypePreKey, base64.StdEncoding.EncodeToString(forged)); !errors.Is(err, olm.ErrForged) {
		t.Fatal(err)
	}
	if bob.Consume(f) {
		t.Fatal("a forgery uses up a key")
	}
	if _, _, err := f.Encrypt(rand.Reader, []byte("x")); !errors.Is(err, olm.ErrUnproven) {
		t.Fatalf("sealing to nobody knows whom: %v", err)
	}
	if _, err := bob.Inbound(mallory.Curve(), l.body); !errors.Is(err, olm.ErrMismatch) {
		t.Fatalf("another sender: %v", err)
	}
	inbound(t, bob, alice, l, "first") // and then the crash
	b := inbound(t, bob, alice, l, "first")
	if !bob.Consume(b) {
		t.Fatal("the key is gone")
	}
	if _, err := bob.Inbound(alice.Curve(), l.body); !errors.Is(err, olm.ErrNoKey) {
		t.Fatal(err)
	}
	if bob.Consume(s) {
		t.Fatal("an outbound session used no key of ours")
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestL2_FallbackKeyServesManyAndOneRotation(t *testing.T) {
	t.Parallel()
	bob := account(t)
	if keys, _ := bob.FallbackKey(); keys != nil {
		t.Fatal("a key from nowhere")
	}
	var keys []string
	for range 3 {
		if err := bob.GenerateFallbackKey(rand.Reader); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, fallbackOf(t, bob))
		if _, published := bob.FallbackKey(); published {
			t.Fatal("published too early")
		}
		bob.MarkPublished()
		if _, published := bob.FallbackKey(); !published {
			t.Fatal("not published")
		}
	}
	try := func(k string) error {
		alice := account(t)
		s, err := alice.Outbound(rand.Reader, bob.Curve(), k)
		if err != nil {
			t.Fatal(err)
		}
		l := seal(t, s, "x")
		b, err := bob.Inbound(alice.Curve(), l.body)
		if err == nil {
			open(t, b, l, "x")
			if bob.Consume(b) {
				t.Fatal("a fallback key is used up")
			}
		}
		return err
	}
	for range 3 {
		for i, want := range []error{olm.ErrNoKey, nil, nil} {
			if err := try(keys[i]); !errors.Is(err, want) {
				t.Fatalf("key %d: %v, want %v", i, err, want)
			}
		}
	}
	if !bob.ForgetOldFallbackKey() || bob.ForgetOldFallbackKey() || !errors.Is(try(keys[1]), olm.ErrNoKey) || try(keys[2]) != nil {
		t.Fatal("the old key goes when asked, once, and alone")
	}
}

func TestL2_SkippedKeysAreBounded(t *testing.T) {
	t.Parallel()
	a, b := talking(t)
	late := seals(t, a, olm.MaxSkipped+1)
	open(t, b, seal(t, a, "x"), "x") // passes one more than is kept
	if _, err := b.Decrypt(late[0].typ, late[0].body); !errors.Is(err, olm.ErrUsed) {
		t.Fatalf("the oldest is given up: %v", err)
	}
	for _, l := range late[1:] {
		open(t, b, l, "x")
		if _, err := b.Decrypt(l.typ, l.body); !errors.Is(err, olm.ErrUsed) {
			t.Fatalf("a replay: %v", err)
		}
	}
	// The bound holds over several jumps as well.
	first := seals(t, a, 30)
	open(t, b, seal(t, a, "x"), "x")
	more := seals(t, a, 30)
	open(t, b, seal(t, a, "x"), "x")
	if _, err := b.Decrypt(first[19].typ, first[19].body); !errors.Is(err, olm.ErrUsed) {
		t.Fatal(err)
	}
	open(t, b, first[20], "x")
	open(t, b, more[0], "x")
}

func TestL2_GapIsBounded(t *testing.T) {
	t.Parallel()
	a, b := talking(t)
	open(t, b, seal(t, a, "x"), "x")
	list := seals(t, a, olm.MaxGap+2)
	far, allowed := list[olm.MaxGap+1], list[olm.MaxGap]
	if _, err := b.Decrypt(far.typ, far.body); !errors.Is(err, olm.ErrGap) {
		t.Fatal(err)
	}
	open(t, b, allowed, "x")
	open(t, b, far, "x")
}

func TestL2_ChainsAreBounded(t *testing.T) {
	t.Parallel()
	a, b := talking(t)
	var late []letter
	for range olm.MaxChains + 1 {
		late = append(late, seal(t, a, "late"))
		open(t, b, seal(t, a, "x"), "x")
		open(t, a, seal(t, b, "x"), "x")
	}
	if _, err := b.Decrypt(late[0].typ, late[0].body); err == nil {
		t.Fatal("a chain too many")
	}
	for _, l := range late[1:] {
		open(t, b, l, "late")
	}
	open(t, b, seal(t, a, "and on"), "and on")
}

// TestL2_ForgeryChangesNothing: every byte of a message counts, and whatever fails leaves the session as it was.
func TestL2_ForgeryChangesNothing(t *testing.T) {
	t.Parallel()
	a, b := talking(t)
	skipped := seal(t, a, "skipped")
	open(t, b, seal(t, a, "x"), "x")
	next := seal(t, a, "next")
	seal(t, b, "a turn of the ratchet that the other side has not seen")
	for _, l := range []letter{skipped, next} {
		raw := must(base64.StdEncoding.DecodeString(l.body))
		before := state(t, b)
		for i := range raw {
			for _, bit := range []byte{1, 0x80} {
				changed := bytes.Clone(raw)
				changed[i] ^= bit
				if plain, err := b.Decrypt(l.typ, base64.StdEncoding.EncodeToString(changed)); err == nil {
					t.Fatalf("byte %d: opened %q", i, plain)
				}
			}
			if _, err := b.Decrypt(l.typ, base64.StdEncoding.EncodeToString(raw[:i])); err == nil {
				t.Fatalf("opened %d bytes of %d", i, len(raw))
			}
		}
		if state(t, b) != before {
			t.Fatal("a forgery changed the session")
		}
	}
	open(t, b, next, "next")
	open(t, b, skipped, "skipped")
}

// zeros is randomness for pickles that are compared.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func state(t testing.TB, s *olm.Session) string {
	t.Helper()
	pickle, err := s.Pickle(zeros{}, make([]byte, olm.PickleKeySize))
	if err != nil {
		t.Fatal(err)
	}
	return string(pickle)
}

func TestL2_MalformedIsRefused(t *testing.T) {
	t.Parallel()
	alice, bob := account(t), account(t)
	s := outbound(t, alice, bob)
	l := seal(t, s, "x")
	b := inbound(t, bob, alice, l, "x")
	normal := seal(t, b, "x")
	for name, c := range map[string]struct {
		typ  int
		body string
		want error
	}{
		"no base64":            {olm.TypeNormal, "not base64!", olm.ErrMalformed},
		"line break":           {olm.TypeNormal, normal.body[:8] + "\n" + normal.body[8:], olm.ErrMalformed},
		"loose bits":           {olm.TypeNormal, "AB==", olm.ErrMalformed},
		"empty":                {olm.TypeNormal, "", olm.ErrMalformed},
		"type 2":               {2, normal.body, olm.ErrMalformed},
		"type of the other":    {olm.TypeNormal, l.body, olm.ErrMalformed},
		"another session":      {olm.TypePreKey, seal(t, outbound(t, alice, bob), "x").body, olm.ErrMismatch},
		"longer than the most": {olm.TypeNormal, strings.Repeat("A", olm.MaxBody+1), olm.ErrTooLong},
	} {
		if _, err := b.Decrypt(c.typ, c.body); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := s.Decrypt(l.typ, l.body); !errors.Is(err, olm.ErrMismatch) {
		t.Errorf("its own first message: %v", err)
	}
	if s.Matches(l.body) || !b.Matches(l.body) || b.Matches("?") || b.Matches(normal.body) || b.Matches(seal(t, outbound(t, alice, bob), "x").body) {
		t.Error("a first message matches the session of the one who got it, and nothing else")
	}
	if _, _, err := s.Encrypt(rand.Reader, make([]byte, olm.MaxBody)); !errors.Is(err, olm.ErrTooLong) {
		t.Errorf("too long a text: %v", err)
	}
	longest := seal(t, s, strings.Repeat("x", olm.MaxBody/4*3-256))
	if len(longest.body) > olm.MaxBody {
		t.Errorf("a body of %d", len(longest.body))
	}
	open(t, b, letter{longest.typ, strings.TrimRight(longest.body, "=")}, strings.Repeat("x", olm.MaxBody/4*3-256))
}

func TestL2_LowOrderKeysAreRefused(t *testing.T) {
	t.Parallel()
	alice, bob := account(t), account(t)
	zero, one := make([]byte, 32), append([]byte{1}, make([]byte, 31)...)
	for _, k := range [][]byte{zero, one} {
		weak := base64.RawStdEncoding.EncodeToString(k)
		if _, err := alice.Outbound(rand.Reader, bob.Curve(), weak); !errors.Is(err, olm.ErrWeakKey) {
			t.Fatalf("one-time key: %v", err)
		}
		if _, err := alice.Outbound(rand.Reader, weak, claim(t, bob)); !errors.Is(err, olm.ErrWeakKey) {
			t.Fatalf("identity key: %v", err)
		}
		// In messages: the base key of a first one, the ratchet key of another.
		l := seal(t, outbound(t, alice, bob), "x")
		raw := must(base64.StdEncoding.DecodeString(l.body))
		copy(raw[1+34+2:], k)
		if _, err := bob.Inbound(alice.Curve(), base64.StdEncoding.EncodeToString(raw)); !errors.Is(err, olm.ErrWeakKey) {
			t.Fatalf("base key: %v", err)
		}
		a, b := talking(t)
		seal(t, a, "x")
		raw = must(base64.StdEncoding.DecodeString(seal(t, b, "x").body))
		copy(raw[3:], k)
		if _, err := a.Decrypt(olm.TypeNormal, base64.StdEncoding.EncodeToString(raw)); !errors.Is(err, olm.ErrWeakKey) {
			t.Fatalf("ratchet key: %v", err)
		}
	}
	for _, bad := range []string{"", "AAAA", "no base64", bob.Curve() + "A"} {
		if _, err := alice.Outbound(rand.Reader, bad, bob.Curve()); !errors.Is(err, olm.ErrMalformed) {
			t.Fatalf("%q: %v", bad, err)
		}
		if _, err := alice.Outbound(rand.Reader, bob.Curve(), bad); !errors.Is(err, olm.ErrMalformed) {
			t.Fatalf("%q: %v", bad, err)
		}
		if _, err := alice.Inbound(bad, ""); !errors.Is(err, olm.ErrMalformed) {
			t.Fatalf("%q: %v", bad, err)
		}
	}
}

func TestL2_PicklesHoldAndAreSealed(t *testing.T) {
	t.Parallel()
	key, other := bytes.Repeat([]byte{1}, olm.PickleKeySize), bytes.Repeat([]byte{2}, olm.PickleKeySize)
	alice, bob := account(t), account(t)
	for _, generate := range []func() error{
		func() error { return bob.GenerateOneTimeKeys(rand.Reader, 3) },
		func() error { return bob.GenerateFallbackKey(rand.Reader) },
		func() error { bob.MarkPublished(); return bob.GenerateFallbackKey(rand.Reader) },
		func() error { return bob.GenerateOneTimeKeys(rand.Reader, 2) },
	} {
		if err := generate(); err != nil {
			t.Fatal(err)
		}
	}
	pickle := must(bob.Pickle(rand.Reader, key))
	again := must(olm.UnpickleAccount(pickle, key))
	if again.Curve() != bob.Curve() || again.Ed() != bob.Ed() || again.StoredOneTimeKeys() != 5 || len(again.OneTimeKeys()) != 2 || fallbackOf(t, again) != fallbackOf(t, bob) {
		t.Fatal("not the same account")
	}
	if err := again.GenerateOneTimeKeys(rand.Reader, 1); err != nil || len(again.OneTimeKeys()) != 3 {
		t.Fatalf("a key id came twice: %v, %v", err, again.OneTimeKeys())
	}
	if bytes.Equal(pickle, must(bob.Pickle(rand.Reader, key))) {
		t.Fatal("two pickles are one")
	}
	a := outbound(t, alice, bob)
	session := must(a.Pickle(rand.Reader, key))
	for name, c := range map[string]struct {
		pickle, key []byte
		want        error
	}{
		"wrong key":    {pickle, other, olm.ErrForged},
		"short key":    {pickle, key[1:], olm.ErrMalformed},
		"another kind": {session, key, olm.ErrMalformed},
		"nothing":      {nil, key, olm.ErrMalformed},
		"cut":          {pickle[:len(pickle)-1], key, olm.ErrForged},
		"version":      {append([]byte{9}, pickle[1:]...), key, olm.ErrMalformed},
	} {
		if got, err := olm.UnpickleAccount(c.pickle, c.key); !errors.Is(err, c.want) || got != nil {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := olm.UnpickleSession(pickle, key); !errors.Is(err, olm.ErrMalformed) {
		t.Errorf("an account as a session: %v", err)
	}
	for i := range session {
		changed := bytes.Clone(session)
		changed[i] ^= 1
		if _, err := olm.UnpickleSession(changed, key); err == nil {
			t.Fatalf("byte %d is not vouched for", i)
		}
	}
}

// failing randomness is an error and no state.
type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("no randomness") }

func TestL2_FailingRandomness(t *testing.T) {
	t.Parallel()
	if _, err := olm.NewAccount(failing{}); err == nil {
		t.Fatal("an account of zeros")
	}
	a, b := talking(t)
	open(t, b, seal(t, a, "x"), "x")
	before := state(t, b)
	if _, _, err := b.Encrypt(failing{}, nil); err == nil || state(t, b) != before {
		t.Fatalf("a ratchet key of zeros: %v", err)
	}
	alice := account(t)
	if alice.GenerateOneTimeKeys(failing{}, 1) == nil || alice.GenerateFallbackKey(failing{}) == nil || alice.StoredOneTimeKeys() != 0 {
		t.Fatal("keys of zeros")
	}
	if _, err := alice.Outbound(failing{}, account(t).Curve(), account(t).Curve()); err == nil {
		t.Fatal("a base key of zeros")
	}
	if _, err := alice.Pickle(failing{}, make([]byte, olm.PickleKeySize)); err == nil {
		t.Fatal("a salt of zeros")
	}
}
