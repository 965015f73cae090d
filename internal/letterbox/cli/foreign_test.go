package cli_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/olm"
	"github.com/agntchat/agntchat/internal/letterbox/olmtest"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

// foreigner is a client of the relay that is not ours: it signs its own calls and writes its own envelopes. What it encrypts
// with is a question of who makes it.
type foreigner struct {
	w                          *world
	address, identity, signing string
	sign                       func(text []byte) string
}

func newForeigner(w *world, curve, ed string, sign func([]byte) string) *foreigner {
	return &foreigner{w: w, address: wire.Address(curve, ed), identity: curve, signing: ed, sign: sign}
}

func (f *foreigner) call(tool string, args map[string]any, into any) {
	f.w.t.Helper()
	nonce := make([]byte, 16)
	_, _ = rand.Read(nonce)
	a := wire.Auth{Fingerprint: f.address, IdentityKey: f.identity, SigningKey: f.signing, Timestamp: strconv.FormatInt(time.Now().Unix(), 10), Nonce: hex.EncodeToString(nonce)}
	text, err := wire.SignedText(tool, f.w.url, a, args)
	if err != nil {
		f.w.t.Fatal(err)
	}
	a.Signature = f.sign(text)
	body, err := json.Marshal(wire.NewRequest(tool, a, args))
	if err != nil {
		f.w.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(f.w.t.Context(), http.MethodPost, f.w.url, bytes.NewReader(body))
	if err != nil {
		f.w.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		f.w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK || json.Unmarshal(b, into) != nil {
		f.w.t.Fatalf("%s: %d %s %v", tool, res.StatusCode, b, err)
	}
}

func (f *foreigner) publish(oneTime []string, fallback string) {
	f.w.t.Helper()
	keys := map[string]string{}
	for i, k := range oneTime {
		keys[fmt.Sprintf("K%04d", i)] = k
	}
	var ok wire.Published
	f.call(wire.ToolPublishKeys, map[string]any{"identity_key": f.identity, "signing_key": f.signing, "one_time_keys": keys, "fallback_key": map[string]string{"F": fallback}}, &ok)
}

func (f *foreigner) claim(peer string) (k wire.ClaimedKey) {
	f.w.t.Helper()
	f.call(wire.ToolClaimKey, map[string]any{"peer": peer}, &k)
	return k
}

func (f *foreigner) put(to string, mtype int, body string) (s wire.SendResult) {
	f.w.t.Helper()
	f.call(wire.ToolSendMessage, map[string]any{"to": to, "mtype": mtype, "body": body}, &s)
	return s
}

func (f *foreigner) read(from string) (list []wire.Message) {
	f.w.t.Helper()
	f.call(wire.ToolReadMessages, map[string]any{"peer": from}, &list)
	return list
}

func pad(body string) string { return body + strings.Repeat("=", (4-len(body)%4)%4) }

// hostile is a foreigner over our own Olm: it can put anything inside a letter.
type hostile struct {
	*foreigner
	account *olm.Account
	session *olm.Session
}

func newHostile(w *world) *hostile {
	w.t.Helper()
	a, err := olm.NewAccount(rand.Reader)
	if err != nil {
		w.t.Fatal(err)
	}
	h := &hostile{foreigner: newForeigner(w, a.Curve(), a.Ed(), a.Sign), account: a}
	if err := a.GenerateOneTimeKeys(rand.Reader, 5); err != nil {
		w.t.Fatal(err)
	}
	if err := a.GenerateFallbackKey(rand.Reader); err != nil {
		w.t.Fatal(err)
	}
	var keys []string
	for _, k := range a.OneTimeKeys() {
		keys = append(keys, k)
	}
	fallback := ""
	current, _ := a.FallbackKey()
	for _, k := range current {
		fallback = k
	}
	h.publish(keys, fallback)
	return h
}

func (h *hostile) begin(to string) {
	h.w.t.Helper()
	k := h.claim(to)
	s, err := h.account.Outbound(rand.Reader, k.IdentityKey, k.OneTimeKey)
	if err != nil {
		h.w.t.Fatal(err)
	}
	h.session = s
}

// letter puts a text into a letter as it is.
func (h *hostile) letter(to, plain string) (mtype int, body string) {
	h.w.t.Helper()
	if h.session == nil {
		h.begin(to)
	}
	mtype, body, err := h.session.Encrypt(rand.Reader, []byte(plain))
	if err != nil {
		h.w.t.Fatal(err)
	}
	return mtype, body
}

func (h *hostile) write(to, plain string) {
	h.w.t.Helper()
	mtype, body := h.letter(to, plain)
	h.put(to, mtype, body)
}

// 6.3, 8.1 bug 4: whatever a peer writes, the letters beside it arrive, each once.
func TestL2_Bug4_NothingStopsABatch(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.people("bob")
		bob := w.ids["bob"]
		h := newHostile(w)
		garbage := []string{
			`{"id":"11","kind":"wave"}`, `{"id":"12","kind":"wave","text":"a new kind with a text"}`, `{"id":"13","kind":"msg"}`, `{"id":"14","kind":"msg","text":7}`,
			`{"kind":"msg","text":"no id"}`, `{"id":"","kind":"msg","text":"empty id"}`, `{"id":15,"kind":"msg","text":"numeric id"}`, `not json`, `[]`, `null`, `"x"`, "\xff\xfe", `{}`,
			`{"id":"16","kind":"contact"}`, `{"id":"17","kind":"contact","card":7}`, `{"id":"18","kind":"contact","card":{"fingerprint":"zz"}}`,
			`{"id":"19","kind":"group_leave"}`, `{"id":"20","kind":"group_leave","group_id":9}`, `{"id":"21","kind":"contact_request"}`, `{"id":"22","kind":"contact_request","code":"x","card":{}}`,
			`{"id":"23","kind":"ack"}`, `{"id":"24","kind":"msg","text":"bad group","group":"team"}`, `{"id":"25","kind":"msg","text":"bad members","group":{"id":"g","name":"n","members":["x"]}}`,
			`{"id":"26","kind":"msg","text":"more members","extra":{"deep":[[[]]]},"v":2,"caps":["a"],"name":null}`, `{"id":"` + strings.Repeat("9", 4000) + `","kind":"msg","text":"long id"}`,
		}
		want := []string{"first"}
		h.write(bob, `{"id":"10","kind":"msg","text":"first","name":"mal\u001b[31m\n"}`)
		for i, g := range garbage {
			h.write(bob, g)
			h.write(bob, fmt.Sprintf(`{"id":"ok%d","kind":"msg","text":"ok %d"}`, i, i))
			want = append(want, fmt.Sprintf("ok %d", i))
		}
		h.put(bob, 1, "!!! not base64 !!!")
		h.put(bob, 0, "AAAA")
		h.put(bob, 0, base64.StdEncoding.EncodeToString([]byte("\x03\x0a\x20")))
		h.put(bob, 1, "")
		h.put(bob, 7, "AwogIQux")
		h.put(bob, -1, "AwogIQux")
		mtype, body := h.letter(bob, `{"id":"never","kind":"msg","text":"damaged"}`)
		h.put(bob, mtype, body[:len(body)-8]+"AAAAAAA=")
		h.write(bob, `{"id":"99","kind":"msg","text":"last"}`)
		r := w.do("bob", "receive", "--peer", h.address)
		var got []string
		for _, rec := range w.records(r.out) {
			if s, ok := rec["text"].(string); ok && (strings.HasPrefix(s, "ok ") || s == "first" || s == "last") {
				got = append(got, s)
			}
		}
		equal(t, "letters", got, append(want, "last"))
		contains(t, r.out, "a new kind with a text", "bad members", "more members")
		for _, never := range []string{"no id", "empty id", "numeric id", "damaged", "\x1b", "long id"} {
			if strings.Contains(r.out, never) || strings.Contains(r.err, "\x1b") {
				t.Fatalf("%q was shown", never)
			}
		}
		equal(t, "a second look", w.do("bob", "receive", "--peer", h.address).out, "")
	})
}

// 2.5: an envelope that was encrypted a second time is shown once, whichever copy comes first.
func TestL2_SecondCopyIsShownOnce(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("bob")
	h := newHostile(w)
	h.write(w.ids["bob"], `{"id":"one","kind":"msg","text":"hello"}`)
	h.session = nil
	h.write(w.ids["bob"], `{"id":"one","kind":"msg","text":"hello"}`)
	equal(t, "texts", texts(w.receive("bob", h.address)), []string{"hello"})
	if n := len(w.plain.Mail(h.address)); n == 0 {
		t.Fatal("no acknowledgement")
	}
}

// An acknowledgement counts only from the recipient of the letter, and a stranger's roster does not touch our group of that id.
func TestL2_OthersCannotAcknowledgeForAPeer(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	sent := w.records(w.do("alice", "send", "--peer", "bob", "hi").out)[0]["id"].(string)
	h := newHostile(w)
	h.write(w.ids["alice"], `{"id":"`+sent+`","kind":"ack"}`)
	w.do("alice", "receive", "--peer", h.address)
	equal(t, "outbox", w.outbox("alice"), []string{"at_relay"})
}

// libolmPeer is a foreigner over libolm: nothing of it is ours.
type libolmPeer struct {
	*foreigner
	child   *olmtest.Child
	account int
	session int // newest, -1 for none
}

func newLibolmPeer(w *world) *libolmPeer {
	w.t.Helper()
	c := olmtest.Libolm(w.t)
	a := c.Ask(w.t, olmtest.Request{"op": "account"})
	p := &libolmPeer{child: c, account: a.N, session: -1}
	p.foreigner = newForeigner(w, a.Curve, a.Ed, func(text []byte) string {
		return c.Ask(w.t, olmtest.Request{"op": "sign", "n": a.N, "text": string(text)}).Signature
	})
	keys := c.Ask(w.t, olmtest.Request{"op": "one_time", "n": a.N, "count": 20}).Keys
	fallback := c.Ask(w.t, olmtest.Request{"op": "fallback", "n": a.N}).Keys
	p.publish(keys, fallback[0])
	return p
}

func (p *libolmPeer) write(to, plain string) (body string) {
	p.w.t.Helper()
	if p.session < 0 {
		k := p.claim(to)
		p.session = p.child.Ask(p.w.t, olmtest.Request{"op": "outbound", "n": p.account, "curve": k.IdentityKey, "key": k.OneTimeKey}).N
	}
	m := p.child.Ask(p.w.t, olmtest.Request{"op": "encrypt", "n": p.session, "text": plain})
	p.put(to, m.Typ, pad(m.Body))
	return pad(m.Body)
}

// open opens what came from an address, as envelopes.
func (p *libolmPeer) open(from string) (list []record) {
	p.w.t.Helper()
	var keys wire.Keys
	p.call(wire.ToolGetKeys, map[string]any{"peer": from}, &keys)
	for _, m := range p.read(from) {
		body := strings.TrimRight(m.Body, "=")
		r := olmtest.Request{"op": "decrypt", "n": p.session, "typ": m.MType, "body": body}
		if m.MType == 0 && (p.session < 0 || !p.child.Ask(p.w.t, olmtest.Request{"op": "matches", "n": p.session, "curve": keys.IdentityKey, "typ": 0, "body": body}).Yes) {
			r = olmtest.Request{"op": "inbound", "n": p.account, "curve": keys.IdentityKey, "typ": 0, "body": body}
		}
		a := p.child.Ask(p.w.t, r)
		if r["op"] == "inbound" {
			p.session = a.N
		}
		var e record
		if err := json.Unmarshal([]byte(a.Text), &e); err != nil {
			p.w.t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

// Letters both ways with a client over libolm that is not ours: begun by either side, out of order, replayed, refused, groups.
func TestL2_WithALibolmPeer(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.people("alice")
		alice := w.ids["alice"]
		p := newLibolmPeer(w)
		w.do("alice", "add", p.address, "--peer", "oli", "--verify")
		// Begun by us.
		sent := w.records(w.do("alice", "send", "--peer", "oli", "hello ☃ \U0001F4AC").out)[0]["id"]
		got := p.open(alice)
		equal(t, "envelope", []any{got[0]["id"], got[0]["kind"], got[0]["text"], got[0]["name"], len(got[0])}, []any{sent, "msg", "hello ☃ \U0001F4AC", "alice", 5}) // and pad
		// Answered and acknowledged by libolm; from now on letters are of type 1.
		p.write(alice, `{"id": "`+sent.(string)+`", "kind": "ack"}`)
		body := p.write(alice, `{"id": "aa01", "kind": "msg", "text": "h\u00e9", "name": "Oli"}`)
		equal(t, "record", w.receive("alice", "oli"), []record{{"id": "aa01", "from": p.address, "name": "oli", "text": "hé"}})
		equal(t, "outbox", w.outbox("alice"), []string(nil))
		acks := p.open(alice)
		equal(t, "ack", []any{len(acks), acks[0]["id"], acks[0]["kind"], len(acks[0])}, []any{1, "aa01", "ack", 3}) // and pad
		// The same ciphertext again is acknowledged again and not shown.
		p.put(alice, 1, body)
		equal(t, "replay", len(w.receive("alice", "oli")), 0)
		equal(t, "ack again", p.open(alice)[0]["id"], "aa01")
		// Out of order.
		var late []string
		for i := range 5 {
			m := p.child.Ask(t, olmtest.Request{"op": "encrypt", "n": p.session, "text": fmt.Sprintf(`{"id":"b%d","kind":"msg","text":"%d"}`, i, i)})
			late = append(late, pad(m.Body))
		}
		slices.Reverse(late)
		for _, b := range late {
			p.put(alice, 1, b)
		}
		equal(t, "out of order", texts(w.receive("alice", "oli")), []string{"4", "3", "2", "1", "0"})
		p.open(alice)
		// A group.
		w.do("alice", "group", "create", "team", "oli")
		w.do("alice", "send", "--group", "team", "room")
		g := p.open(alice)[0]
		roster := g["group"].(map[string]any)
		equal(t, "group", []any{g["kind"], g["text"], roster["name"], roster["members"], g["mid"] != nil && g["mid"] != g["id"]}, []any{"msg", "room", "team", []string{alice, p.address}, true})
		p.write(alice, `{"id": "`+g["id"].(string)+`", "kind": "ack"}`)
		p.write(alice, `{"id": "cc", "kind": "msg", "text": "re", "name": "Oli", "group": {"id": "`+roster["id"].(string)+`", "name": "team", "members": ["`+alice+`", "`+p.address+`"]}, "mid": "m1"}`)
		equal(t, "group record", w.receive("alice", "oli"), []record{{"id": "cc", "from": p.address, "name": "oli", "text": "re", "group": "team", "group_id": roster["id"]}})
		// libolm refuses: the letter comes again with a new session.
		w.do("alice", "send", "--peer", "oli", "you cannot read this")
		mail := p.read(alice)
		last := mail[len(mail)-1]
		hash := wire.BodyHash(last.Body)
		var ok wire.OK
		p.call(wire.ToolNack, map[string]any{"hash": hash, "sig": p.sign(wire.NackText(p.address, hash))}, &ok)
		p.session = -1
		contains(t, w.do("alice", "sync").err, "encrypted again")
		healed := p.open(alice)
		equal(t, "healed", healed[len(healed)-1]["text"], "you cannot read this")
		// Begun by libolm, as a stranger who uses a code.
		q := newLibolmPeer(w)
		code := w.records(w.do("alice", "invite", "new").out)[0]["code"].(string)
		q.write(alice, `{"id": "dd", "kind": "contact_request", "code": "`+code+`", "card": {"name": "Quin", "fingerprint": "`+q.address+`", "identity_key": "`+q.identity+`", "signing_key": "`+q.signing+`", "verified": true}}`)
		accepted := w.records(w.do("alice", "invite", "watch").out)[0]
		equal(t, "accepted", []any{accepted["kind"], accepted["name"], accepted["from"]}, []any{"contact_accepted", "Quin", q.address})
		equal(t, "ack", q.open(alice)[0]["id"], "dd")
		w.do("alice", "send", "--peer", "Quin", "welcome")
		equal(t, "letter", q.open(alice)[0]["text"], "welcome")
	})
}

// 8.1 bug 2 again: a peer that published keys nobody can write to holds up its own letter only.
func TestL2_BrokenKeysOfAPeerBlockNothing(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("alice", "bob")
	h := newHostile(w)
	w.do("alice", "send", "--peer", h.address, "to be refused")
	m := h.read(w.ids["alice"])[0]
	var ok wire.OK
	h.call(wire.ToolNack, map[string]any{"hash": wire.BodyHash(m.Body), "sig": h.sign(wire.NackText(h.address, wire.BodyHash(m.Body)))}, &ok)
	w.plain.SpendKeys(h.address)
	h.publish(nil, strings.Repeat("A", 43)) // the point of order one
	w.do("alice", "send", "--peer", "bob", "first")
	w.plain.LoseMail()
	r := w.do("alice", "sync")
	contains(t, r.err, "letter ", h.address, "low order")
	contains(t, r.out, `"resent": 1`)
	equal(t, "bob", texts(w.receive("bob", "alice")), []string{"first"})
	contains(t, w.want(2, "alice", "send", "--peer", h.address, "a new one").err, "low order")
	equal(t, "outbox", w.outbox("alice"), []string{"queued", "at_relay"})
	w.do("alice", "receive", "--peer", "bob")
	w.do("alice", "outbox", "drop", w.records(w.do("alice", "outbox", "--json").out)[0]["id"].(string))
	equal(t, "outbox", w.outbox("alice"), []string(nil))
}

// 6.3, 7.4: a one-time key that was claimed long ago still opens a letter after many replenishments.
func TestL2_ClaimedKeysAreNotEvicted(t *testing.T) {
	t.Parallel()
	w := plainWorld(t)
	w.people("bob")
	h := newHostile(w)
	h.begin(w.ids["bob"]) // claims one of the first hundred
	for range 8 {
		w.plain.SpendKeys(w.ids["bob"])
		contains(t, w.do("bob", "sync").out, `"replenished": true`)
	}
	h.write(w.ids["bob"], `{"id":"1","kind":"msg","text":"by an old key"}`)
	equal(t, "texts", texts(w.receive("bob", h.address)), []string{"by an old key"})
}

// refuse refuses all that came from an address, as its owner.
func (h *hostile) refuse(from string) {
	h.w.t.Helper()
	for _, m := range h.read(from) {
		var ok wire.OK
		hash := wire.BodyHash(m.Body)
		h.call(wire.ToolNack, map[string]any{"hash": hash, "sig": h.sign(wire.NackText(h.address, hash))}, &ok)
	}
}

// 1.4: a refused copy of a group letter takes the peer off the roster; that it could open the second one puts it back. A letter
// that was refused twice can be tried again by hand.
func TestL2_RefusedGroupCopyAndRetry(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, w *world) {
		w.people("alice")
		alice := w.ids["alice"]
		h := newHostile(w)
		w.do("alice", "add", h.address, "--peer", "hal")
		w.do("alice", "group", "create", "team", "hal,"+address1)
		members := func() string { return w.do("alice", "group", "members", "team").out }
		w.want(2, "alice", "send", "--group", "team", "one") // address1 is nobody
		h.refuse(alice)
		w.do("alice", "sync")
		if strings.Contains(members(), "hal") {
			t.Fatal("the roster still has hal")
		}
		k := w.plainKeys("alice")
		list := h.read(alice)
		s, err := h.account.Inbound(k.IdentityKey, list[0].Body)
		if err != nil {
			t.Fatal(err)
		}
		plain, err := s.Decrypt(int(list[0].MType), list[0].Body)
		if err != nil {
			t.Fatal(err)
		}
		var e record
		if err := json.Unmarshal(plain, &e); err != nil {
			t.Fatal(err)
		}
		equal(t, "text", e["text"], "one")
		h.session = s
		h.write(alice, `{"id":"`+e["id"].(string)+`","kind":"ack"}`)
		w.do("alice", "receive", "--peer", "hal")
		contains(t, members(), "hal\t"+h.address)
		equal(t, "outbox", w.outbox("alice"), []string(nil))
		// Twice, and then once more by hand.
		w.do("alice", "send", "--peer", "hal", "two")
		h.refuse(alice)
		contains(t, w.do("alice", "sync").err, "encrypted again")
		h.refuse(alice)
		contains(t, w.do("alice", "sync").err, "refused by its recipient")
		equal(t, "outbox", w.outbox("alice"), []string{"refused"})
		contains(t, w.do("alice", "sync").out, `"resent": 0`)
		id := w.records(w.do("alice", "outbox", "--json").out)[0]["id"].(string)
		w.want(2, "alice", "outbox", "retry", "nope")
		equal(t, "retry", w.do("alice", "outbox", "retry", id, "--json").out, `{"id": "`+id+`", "retry": true}`+"\n")
		contains(t, w.do("alice", "sync").out, `"resent": 1`)
		if n := len(h.read(alice)); n != 1 {
			t.Fatalf("%d letters", n)
		}
	})
}
