package olm_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/agntchat/agntchat/internal/letterbox/olm"
	"github.com/agntchat/agntchat/internal/letterbox/olmtest"
)

// foreign is an account of another implementation and its conversation with one account of ours.
type foreign interface {
	curve() string
	claim(t testing.TB) string    // takes one of its one-time keys
	fallback(t testing.TB) string // gives it a new fallback key
	begin(t testing.TB, k string, isFallback bool)
	seal(t testing.TB, text string) letter
	open(t testing.TB, l letter) (string, error)
	openAll(t testing.TB, list []letter) []string // in this order; each has to open
	wrap(text string) string                      // what of ours it takes for a letter of this text
	unwrap(plain []byte) string                   // the text of a letter of its
}

// libolmPeer is a foreign account in libolm.
type libolmPeer struct {
	*olmtest.Child
	ours     *olm.Account
	account  olmtest.Answer
	sessions []olmtest.Answer // most recently used last
}

func newLibolmPeer(t testing.TB, c *olmtest.Child, ours *olm.Account) *libolmPeer {
	t.Helper()
	return &libolmPeer{Child: c, ours: ours, account: c.Ask(t, olmtest.Request{"op": "account"})}
}

func (p *libolmPeer) curve() string { return p.account.Curve }

func (p *libolmPeer) claim(t testing.TB) string {
	t.Helper()
	return p.Ask(t, olmtest.Request{"op": "one_time", "n": p.account.N, "count": 1}).Keys[0]
}

func (p *libolmPeer) fallback(t testing.TB) string {
	t.Helper()
	return p.Ask(t, olmtest.Request{"op": "fallback", "n": p.account.N}).Keys[0]
}

func (p *libolmPeer) begin(t testing.TB, k string, _ bool) {
	t.Helper()
	p.sessions = append(p.sessions, p.Ask(t, olmtest.Request{"op": "outbound", "n": p.account.N, "curve": p.ours.Curve(), "key": k}))
}

func (p *libolmPeer) newest() olmtest.Answer { return p.sessions[len(p.sessions)-1] }

func (p *libolmPeer) seal(t testing.TB, text string) letter {
	t.Helper()
	a := p.Ask(t, olmtest.Request{"op": "encrypt", "n": p.newest().N, "text": text})
	return letter{a.Typ, a.Body}
}

// open does what a client does: the session that a pre-key message names, else each one, else a new one.
func (p *libolmPeer) open(t testing.TB, l letter) (string, error) {
	t.Helper()
	r := olmtest.Request{"typ": l.typ, "body": unpadded(l.body), "curve": p.ours.Curve()}
	err := errors.New("no session")
	for i, s := range slices.Backward(p.sessions) {
		r["n"] = s.N
		if r["op"] = "matches"; l.typ == olm.TypePreKey && !p.Ask(t, r).Yes {
			continue
		}
		r["op"] = "decrypt"
		var a olmtest.Answer
		if a, err = p.Try(t, r); err == nil {
			p.sessions = append(slices.Delete(p.sessions, i, i+1), s)
			return a.Text, nil
		}
		if l.typ == olm.TypePreKey {
			return "", err
		}
	}
	if l.typ == olm.TypePreKey {
		r["op"], r["n"] = "inbound", p.account.N
		var a olmtest.Answer
		if a, err = p.Try(t, r); err == nil {
			p.sessions = append(p.sessions, a)
			return a.Text, nil
		}
	}
	return "", err
}

func (p *libolmPeer) openAll(t testing.TB, list []letter) []string {
	t.Helper()
	var texts []string
	for i, l := range list {
		text, err := p.open(t, l)
		if err != nil {
			t.Fatalf("letter %d of %d: %v", i, len(list), err)
		}
		texts = append(texts, text)
	}
	return texts
}

func (p *libolmPeer) wrap(text string) string    { return text }
func (p *libolmPeer) unwrap(plain []byte) string { return string(plain) }

// vodozemacPeer is a machine. Our account is a device that it knows.
type vodozemacPeer struct {
	*olmtest.Child
	ours    *olm.Account
	account olmtest.Answer
	taken   int
	device  string
}

const peerUser = "@peer:test" // as in vodozemac.mjs

func newVodozemacPeer(t testing.TB, c *olmtest.Child, ours *olm.Account, stored bool) *vodozemacPeer {
	t.Helper()
	p := &vodozemacPeer{Child: c, ours: ours, account: c.Ask(t, olmtest.Request{"op": "account", "stored": stored})}
	p.device = fmt.Sprintf("D%d", p.account.N)
	p.Ask(t, olmtest.Request{"op": "meet", "n": p.account.N, "device": p.device, "keys": p.signed(t, map[string]any{
		"algorithms": []string{"m.olm.v1.curve25519-aes-sha2"}, "device_id": p.device, "user_id": peerUser,
		"keys": map[string]string{"curve25519:" + p.device: ours.Curve(), "ed25519:" + p.device: ours.Ed()},
	})})
	return p
}

// signed adds our signature over the canonical form, which for these objects is encoding/json's.
func (p *vodozemacPeer) signed(t testing.TB, object map[string]any) map[string]any {
	t.Helper()
	b, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	object["signatures"] = map[string]any{peerUser: map[string]string{"ed25519:" + p.device: p.ours.Sign(b)}}
	return object
}

func (p *vodozemacPeer) curve() string { return p.account.Curve }

func (p *vodozemacPeer) claim(t testing.TB) string {
	t.Helper()
	p.taken++
	return p.account.Keys[p.taken-1]
}

func (p *vodozemacPeer) fallback(t testing.TB) string {
	t.Helper()
	return p.Ask(t, olmtest.Request{"op": "fallback", "n": p.account.N}).Keys[0]
}

func (p *vodozemacPeer) begin(t testing.TB, k string, isFallback bool) {
	t.Helper()
	object := map[string]any{"key": k}
	if isFallback {
		object["fallback"] = true
	}
	p.Ask(t, olmtest.Request{"op": "outbound", "n": p.account.N, "device": p.device, "key": p.signed(t, object)})
}

func (p *vodozemacPeer) seal(t testing.TB, text string) letter {
	t.Helper()
	a := p.Ask(t, olmtest.Request{"op": "encrypt", "n": p.account.N, "device": p.device, "text": text})
	return letter{a.Typ, a.Body}
}

func (p *vodozemacPeer) open(t testing.TB, l letter) (string, error) {
	t.Helper()
	if text := p.texts(t, []letter{l})[0]; text != nil {
		return *text, nil
	}
	return "", errors.New("not decrypted")
}

func (p *vodozemacPeer) openAll(t testing.TB, list []letter) []string {
	t.Helper()
	var texts []string
	for i, text := range p.texts(t, list) {
		if text == nil {
			t.Fatalf("letter %d of %d was not decrypted", i, len(list))
		}
		texts = append(texts, *text)
	}
	return texts
}

func (p *vodozemacPeer) texts(t testing.TB, list []letter) []*string {
	t.Helper()
	letters := make([]map[string]any, len(list))
	for i, l := range list {
		letters[i] = map[string]any{"typ": l.typ, "body": unpadded(l.body)}
	}
	texts := p.Ask(t, olmtest.Request{"op": "decrypt", "n": p.account.N, "curve": p.ours.Curve(), "letters": letters}).Texts
	if len(texts) != len(list) {
		t.Fatalf("%d texts of %d letters", len(texts), len(list))
	}
	return texts
}

func (p *vodozemacPeer) wrap(text string) string {
	b, err := json.Marshal(map[string]any{
		"type": "test.letter", "content": map[string]string{"text": text}, "sender": peerUser, "recipient": p.account.User,
		"recipient_keys": map[string]string{"ed25519": p.account.Ed}, "keys": map[string]string{"ed25519": p.ours.Ed()},
	})
	if err != nil {
		panic(err) // strings always encode
	}
	return string(b)
}

func (p *vodozemacPeer) unwrap(plain []byte) string {
	var event struct {
		Content struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	_ = json.Unmarshal(plain, &event) // what is no event has no text, and that is not the one wanted
	return event.Content.Text
}

// pair is an account of ours and a foreign one that talk to each other.
type pair struct {
	foreign
	ours    *olm.Account
	session *olm.Session // ours, the newest
}

// each runs a scenario against every other implementation.
func each(t *testing.T, scenario func(t *testing.T, p *pair)) {
	t.Helper()
	t.Run("libolm", func(t *testing.T) {
		t.Parallel()
		ours := account(t)
		scenario(t, &pair{ours: ours, foreign: newLibolmPeer(t, olmtest.Libolm(t), ours)})
	})
	t.Run("vodozemac", func(t *testing.T) {
		t.Parallel()
		ours := account(t)
		scenario(t, &pair{ours: ours, foreign: newVodozemacPeer(t, olmtest.Vodozemac(t), ours, false)})
	})
}

// beginOurs begins a session from our side.
func (p *pair) beginOurs(t testing.TB, key string) {
	t.Helper()
	s, err := p.ours.Outbound(rand.Reader, p.curve(), key)
	if err != nil {
		t.Fatal(err)
	}
	p.session = s
}

func (p *pair) sealOurs(t testing.TB, text string) letter {
	t.Helper()
	return seal(t, p.session, p.wrap(text))
}

// openOurs opens a letter of theirs as a client would.
func (p *pair) openOurs(l letter) (string, error) {
	if l.typ == olm.TypePreKey && (p.session == nil || !p.session.Matches(l.body)) {
		s, err := p.ours.Inbound(p.curve(), l.body)
		if err != nil {
			return "", err
		}
		plain, err := s.Decrypt(l.typ, l.body)
		if err != nil {
			return "", err
		}
		p.ours.Consume(s)
		p.session = s
		return p.unwrap(plain), nil
	}
	plain, err := p.session.Decrypt(l.typ, l.body)
	if err != nil {
		return "", err
	}
	return p.unwrap(plain), nil
}

// send sends a letter of ours and wants it opened there.
func (p *pair) send(t testing.TB, text string, wantType int) letter {
	t.Helper()
	l := p.sealOurs(t, text)
	if l.typ != wantType {
		t.Fatalf("type %d, want %d", l.typ, wantType)
	}
	p.arrives(t, l, text)
	return l
}

func (p *pair) arrives(t testing.TB, l letter, text string) {
	t.Helper()
	if got, err := p.open(t, l); err != nil || got != text {
		t.Fatalf("they opened %.80q, %v; want %.80q", got, err, text)
	}
}

// receive lets them send and wants it opened here.
func (p *pair) receive(t testing.TB, text string, wantType int) letter {
	t.Helper()
	l := p.seal(t, text)
	if l.typ != wantType {
		t.Fatalf("type %d, want %d", l.typ, wantType)
	}
	p.comes(t, l, text)
	return l
}

func (p *pair) comes(t testing.TB, l letter, text string) {
	t.Helper()
	if got, err := p.openOurs(l); err != nil || got != text {
		t.Fatalf("we opened %.80q, %v; want %.80q", got, err, text)
	}
}
