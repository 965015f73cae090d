package olm

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// chance is a reproducible source of randomness.
func chance(seed byte) *rand.ChaCha8 { return rand.NewChaCha8([32]byte{seed}) }

// couple is two sessions whose first message was opened, and that message.
func couple(t testing.TB, r *rand.ChaCha8) (alice, bob *Account, a, b *Session, first string) {
	t.Helper()
	alice, bob = check1(t)(NewAccount(r)), check1(t)(NewAccount(r))
	if err := bob.GenerateFallbackKey(r); err != nil {
		t.Fatal(err)
	}
	a = check1s(t)(alice.Outbound(r, bob.Curve(), bob.fallback.pair.public.String()))
	_, first, err := a.Encrypt(r, []byte("first"))
	if err != nil {
		t.Fatal(err)
	}
	b = check1s(t)(bob.Inbound(alice.Curve(), first))
	if _, err := b.Decrypt(TypePreKey, first); err != nil {
		t.Fatal(err)
	}
	return alice, bob, a, b, first
}

func check1(t testing.TB) func(*Account, error) *Account  { return checked[*Account](t) }
func check1s(t testing.TB) func(*Session, error) *Session { return checked[*Session](t) }

func checked[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func raw(t testing.TB, body string) []byte {
	t.Helper()
	return checked[[]byte](t)(base64.StdEncoding.DecodeString(body))
}

// FuzzMessage: any bytes as a message change nothing unless they open, and no bytes but those sealed open.
func FuzzMessage(f *testing.F) {
	r := chance(1)
	alice, bob, a, b, first := couple(f, r)
	_, normal, err := b.Encrypt(r, []byte("normal"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw(f, first))
	f.Add(raw(f, normal))
	f.Add([]byte{version})
	f.Add([]byte{version, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0})
	before := [2][]byte{walked(a), walked(b)}
	f.Fuzz(func(t *testing.T, message []byte) {
		body := encodeBody(message)
		bob.Inbound(alice.Curve(), body)
		for i, s := range []*Session{a, b} {
			s.Matches(body)
			for typ := range 3 {
				plain, err := s.Decrypt(typ, body)
				switch {
				case err == nil && string(plain) == "normal" && i == 0: // the one message that a has not opened
					before[0] = walked(a)
				case err == nil:
					t.Fatalf("opened %q", plain)
				}
			}
			if !bytes.Equal(walked(s), before[i]) {
				t.Fatal("changed without opening")
			}
		}
		if m, err := parseNormal(message); err == nil && m.index < 1<<7 {
			again := append(encodeNormal(m.ratchet, m.index, m.ciphertext), m.mac...)
			if n, err := parseNormal(again); err != nil || n.ratchet != m.ratchet || n.index != m.index || !bytes.Equal(n.ciphertext, m.ciphertext) {
				t.Fatalf("does not survive encoding: %v", err)
			}
		}
	})
}

func walked(p pickled) []byte {
	var c coder
	p.walk(&c)
	return c.b
}

// FuzzUnpickle: whatever stands inside an authentic pickle of ours either is refused or is written back the same.
func FuzzUnpickle(f *testing.F) {
	_, bob, a, b, _ := couple(f, chance(2))
	if err := bob.GenerateOneTimeKeys(chance(3), 2); err != nil {
		f.Fatal(err)
	}
	for _, p := range []pickled{bob, a, b} {
		f.Add(walked(p))
	}
	f.Fuzz(func(t *testing.T, plain []byte) {
		for _, p := range []pickled{new(Account), new(Session)} {
			c := coder{b: plain, reading: true}
			p.walk(&c)
			if c.end() != nil {
				continue
			}
			if !bytes.Equal(walked(p), plain) {
				t.Fatal("is not written as it was read")
			}
		}
		key := make([]byte, PickleKeySize)
		UnpickleAccount(plain, key)
		UnpickleSession(plain, key)
	})
}

// FuzzUnpickleLibolm: whatever stands inside an authentic pickle of vodozemac or libolm gives an account or session that works
// on, or is refused.
func FuzzUnpickleLibolm(f *testing.F) {
	r := chance(4)
	_, bob, a, b, _ := couple(f, r)
	if err := bob.GenerateOneTimeKeys(r, 2); err != nil {
		f.Fatal(err)
	}
	numbers := func(k key) string { return numbersOf(f, k) }
	f.Add(vodozemacJSON(f, bob))
	f.Add(fmt.Appendf(nil, `{"session_keys":{"identity_key":%s,"base_key":%s,"one_time_key":%s},"sending_ratchet":{"type":"inactive","root_key":{"key":%s},"ratchet_key":%s},"receiving_chains":{"inner":[{"ratchet_key":%s,"hkdf_ratchet":{"key":%s,"index":1},"skipped_message_keys":{"inner":[{"key":%s,"index":0}]}}]},"config":{"version":"V1"}}`,
		numbers(b.keys.identity), numbers(b.keys.base), numbers(b.keys.oneTime), numbers(b.root), numbers(b.their), numbers(b.their), numbers(b.receiving[0].key), numbers(b.root)))
	f.Add(fmt.Appendf(nil, `{"session_keys":{"identity_key":%s,"base_key":%s,"one_time_key":%s},"sending_ratchet":{"type":"active","active_ratchet":{"root_key":%s,"ratchet_key":%s},"symmetric_key_ratchet":{"key":%s,"index":1}},"receiving_chains":{"inner":[]}}`,
		numbers(a.keys.identity), numbers(a.keys.base), numbers(a.keys.oneTime), numbers(a.root), numbers(a.sending.ratchet.secret), numbers(a.sending.key)))
	f.Add([]byte("\x00\x00\x00\x04binary account"))
	f.Add([]byte("\x00\x00\x00\x01binary session"))
	f.Fuzz(func(t *testing.T, plain []byte) {
		if len(plain) == 0 {
			return
		}
		sealed := sealLibolm(plain)
		if account, err := UnpickleLibolm(sealed, nil); err == nil {
			account.Sign(nil)
			account.GenerateOneTimeKeys(chance(5), 1)
			roundTrip(t, account, new(Account))
		}
		if s, err := bob.UnpickleLibolmSession(sealed, nil); err == nil {
			roundTrip(t, s, new(Session))
			typ, body, err := s.Encrypt(chance(6), []byte("x"))
			if err == nil {
				s.Decrypt(typ, body)
			}
		}
	})
}

func numbersOf(t testing.TB, k key) string {
	t.Helper()
	return string(checked[[]byte](t)(json.Marshal([32]byte(k))))
}

// vodozemacJSON is an account with two one-time keys, of which the second is not published, as vodozemac writes it.
func vodozemacJSON(t testing.TB, a *Account) []byte {
	t.Helper()
	numbers := func(k key) string { return numbersOf(t, k) }
	return fmt.Appendf(nil, `{"signing_key":{"Normal":%s},"diffie_hellman_key":%s,"one_time_keys":{"next_key_id":9,"public_keys":{"3":%s},"private_keys":{"2":%s,"3":%s}},"fallback_keys":{"key_id":1,"fallback_key":{"key_id":0,"key":%s,"published":true},"previous_fallback_key":null}}`,
		numbers(a.signing.seed), numbers(a.identity.secret), numbers(a.oneTime[1].pair.public), numbers(a.oneTime[0].pair.secret), numbers(a.oneTime[1].pair.secret), numbers(a.fallback.pair.secret))
}

func TestL2_AccountOfVodozemac(t *testing.T) {
	t.Parallel()
	r := chance(12)
	_, bob, _, _, _ := couple(t, r)
	if err := bob.GenerateOneTimeKeys(r, 2); err != nil {
		t.Fatal(err)
	}
	plain := vodozemacJSON(t, bob)
	a, err := UnpickleLibolm(sealLibolm(plain), nil)
	if err != nil {
		t.Fatal(err)
	}
	if a.Ed() != bob.Ed() || a.Curve() != bob.Curve() || a.nextID != 9 || a.fallback.pair != bob.fallback.pair || !a.fallback.published || a.previous != nil {
		t.Fatal("another account")
	}
	for i, k := range a.oneTime {
		if k.id != uint64(2+i) || k.pair != bob.oneTime[i].pair || k.published != (i == 0) {
			t.Fatalf("key %d: id %d, published %v", i, k.id, k.published)
		}
	}
	for _, member := range []string{`"signing_key"`, `"Normal"`, `"diffie_hellman_key"`, `"key":`} {
		without := bytes.Replace(plain, []byte(member), []byte(`"x`+member[1:]), 1)
		if _, err := UnpickleLibolm(sealLibolm(without), nil); !errors.Is(err, ErrMalformed) {
			t.Errorf("without %s: %v", member, err)
		}
	}
	for _, number := range []string{"256", "-1", "1,2", `"1"`} {
		wrong := bytes.Replace(plain, []byte(`{"Normal":[`), []byte(`{"Normal":[`+number+`,`), 1)
		if _, err := UnpickleLibolm(sealLibolm(wrong), nil); !errors.Is(err, ErrMalformed) {
			t.Errorf("with %s: %v", number, err)
		}
	}
}

// sealLibolm makes the envelope of contract letters 2.3 under an empty key.
func sealLibolm(plain []byte) string {
	block, macKey, iv := cipherKeys(nil, nil, "Pickle")
	sealed := encryptCBC(block, iv, plain)
	return base64.RawStdEncoding.EncodeToString(append(sealed, shortMAC(macKey, sealed)...))
}

func roundTrip(t *testing.T, p, fresh pickled) {
	t.Helper()
	c := coder{b: walked(p), reading: true}
	fresh.walk(&c)
	if err := c.end(); err != nil || !bytes.Equal(walked(fresh), walked(p)) {
		t.Fatalf("does not survive our own form: %v", err)
	}
}

// FuzzConversation plays any order of sealing, delivering, losing, repeating and restoring between two sessions: each message
// opens once with its own text, within the limits always, and whatever does not open changes nothing.
func FuzzConversation(f *testing.F) {
	f.Add([]byte("aAbBaAbBaAbB"))
	f.Add([]byte("aaaaaaBbbbbAAcccBBaxxyyAB"))
	f.Add(bytes.Repeat([]byte("aaabAB"), 30))
	f.Add(bytes.Repeat([]byte{0, 7, 13, 200, 77, 1, 90}, 30))
	f.Fuzz(func(t *testing.T, moves []byte) {
		r := chance(7)
		_, _, a, b, _ := couple(t, r)
		sides := [2]*side{newSide(a), newSide(b)}
		for n, move := range moves[:min(len(moves), 400)] {
			who := int(move>>5) & 1
			from, to := sides[who], sides[1-who]
			pick := int(move&31) % max(len(from.sent), 1)
			switch {
			case move>>6 == 0 || len(from.sent) == 0: // seal
				from.seal(t, r, n)
			case move>>6 == 1: // the newest comes
				to.receive(t, from, len(from.sent)-1)
			case move>>6 == 2: // an older one comes, perhaps again
				to.receive(t, from, len(from.sent)-1-pick)
			default: // saved and restored
				fresh := new(Session)
				roundTrip(t, from.session, fresh)
				from.session = fresh
			}
		}
	})
}

type side struct {
	session *Session
	sent    []sent
	chains  []key       // of the peer's, in the order they came
	missing map[key]int // messages passed over in each
	next    map[key]uint32
}

type sent struct {
	typ    int
	body   string
	text   string
	chain  key
	index  uint32
	opened bool
}

// newSide knows the chains that a session has seen before.
func newSide(session *Session) *side {
	s := &side{session: session, missing: map[key]int{}, next: map[key]uint32{}}
	for _, c := range session.receiving {
		s.chains = append(s.chains, c.ratchet)
		s.missing[c.ratchet], s.next[c.ratchet] = len(c.skipped), c.index
	}
	return s
}

func (s *side) seal(t *testing.T, r *rand.ChaCha8, n int) {
	t.Helper()
	text := fmt.Sprint("message ", n)
	typ, body, err := s.session.Encrypt(r, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var m normal
	if typ == TypePreKey {
		p, err := decodePreKey(body)
		if err != nil {
			t.Fatal(err)
		}
		m = p.message
	} else if m, err = decodeNormal(body); err != nil {
		t.Fatal(err)
	}
	s.sent = append(s.sent, sent{typ: typ, body: body, text: text, chain: m.ratchet, index: m.index})
}

func (s *side) receive(t *testing.T, from *side, i int) {
	t.Helper()
	m := &from.sent[i]
	place := slices.Index(s.chains, m.chain)
	certain := (place < 0 || len(s.chains)-place <= MaxChains-1) && s.missing[m.chain]+int(m.index) <= MaxSkipped
	before := walked(s.session)
	plain, err := s.session.Decrypt(m.typ, m.body)
	switch {
	case err == nil && m.opened:
		t.Fatalf("%q opened twice", m.text)
	case err == nil && string(plain) != m.text:
		t.Fatalf("%q opened as %q", m.text, plain)
	case err != nil && !bytes.Equal(walked(s.session), before):
		t.Fatalf("%q did not open and changed the session", m.text)
	case err != nil && !m.opened && certain:
		t.Fatalf("%q did not open: %v", m.text, err)
	case err != nil:
		return
	}
	m.opened = true
	if place < 0 {
		s.chains = append(s.chains, m.chain)
	}
	if m.index >= s.next[m.chain] {
		s.missing[m.chain] += int(m.index - s.next[m.chain])
		s.next[m.chain] = m.index + 1
	}
}
