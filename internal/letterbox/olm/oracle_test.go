package olm_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/olm"
)

const (
	interopDir = "../../../interop/letters"
	python     = "/usr/bin/python3" // Debian's, whose python3-olm this is; another may stand before it in PATH
	patience   = 10 * time.Minute
)

// child is one of the other implementations in a process that lives as long as the test and speaks JSON lines.
type child struct {
	in     io.Writer
	out    *bufio.Reader
	stderr *bytes.Buffer
}

type request map[string]any

// answer has the members of all operations.
type answer struct {
	Error     string   `json:"error"`
	N         int      `json:"n"`
	ID        string   `json:"id"`
	User      string   `json:"user"`
	Curve     string   `json:"curve"`
	Ed        string   `json:"ed"`
	Keys      []string `json:"keys"`
	Typ       int      `json:"typ"`
	Body      string   `json:"body"`
	Text      string   `json:"text"`
	Yes       bool     `json:"yes"`
	Signature string   `json:"signature"`
	Pickle    string   `json:"pickle"`
	Account   string   `json:"account"`
	Sessions  []string `json:"sessions"`
	Vodozemac string   `json:"vodozemac"`
}

func start(t *testing.T, name string, args ...string) *child {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = interopDir
	c := &child{stderr: new(bytes.Buffer)}
	cmd.Stderr = c.stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.in, c.out = in, bufio.NewReader(out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer cancel()
		_ = in.Close() // the end of its input is the end of the child
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, c.stderr)
		}
	})
	return c
}

// libolm starts libolm through Debian's python3-olm.
func libolm(t *testing.T) *child {
	t.Helper()
	if out, err := exec.CommandContext(t.Context(), python, "-c", "import olm").CombinedOutput(); err != nil {
		t.Fatalf("libolm is missing. Run `make deps` (Debian's package python3-olm): %v\n%s", err, out)
	}
	return start(t, python, "libolm.py")
}

// vodozemac starts vodozemac inside the Matrix crypto machine from npm.
func vodozemac(t *testing.T) *child {
	t.Helper()
	if _, err := os.Stat(interopDir + "/node_modules/@matrix-org/matrix-sdk-crypto-wasm"); err != nil {
		t.Fatalf("vodozemac is missing. Run `make deps` (npm packages of interop/letters): %v", err)
	}
	return start(t, "node", "vodozemac.mjs")
}

func (c *child) try(t testing.TB, r request) (answer, error) {
	t.Helper()
	line, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.in.Write(append(line, '\n')); err != nil {
		t.Fatalf("%v\n%s", err, c.stderr)
	}
	line, err = c.out.ReadBytes('\n')
	if err != nil {
		t.Fatalf("%v\n%s", err, c.stderr)
	}
	var a answer
	if err := json.Unmarshal(line, &a); err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

func (c *child) ask(t testing.TB, r request) answer {
	t.Helper()
	a, err := c.try(t, r)
	if err != nil {
		t.Fatalf("%v: %v", r["op"], err)
	}
	return a
}

// foreign is an account of another implementation and its conversation with one account of ours.
type foreign interface {
	curve() string
	claim(t testing.TB) string    // takes one of its one-time keys
	fallback(t testing.TB) string // gives it a new fallback key
	begin(t testing.TB, k string, isFallback bool)
	seal(t testing.TB, text string) letter
	open(t testing.TB, l letter) (string, error)
	wrap(text string) string    // what of ours it takes for a letter of this text
	unwrap(plain []byte) string // the text of a letter of its
}

// libolmPeer is a foreign account in libolm.
type libolmPeer struct {
	*child
	ours     *olm.Account
	account  answer
	sessions []answer // most recently used last
}

func newLibolmPeer(t testing.TB, c *child, ours *olm.Account) *libolmPeer {
	t.Helper()
	return &libolmPeer{child: c, ours: ours, account: c.ask(t, request{"op": "account"})}
}

func (p *libolmPeer) curve() string { return p.account.Curve }

func (p *libolmPeer) claim(t testing.TB) string {
	t.Helper()
	return p.ask(t, request{"op": "one_time", "n": p.account.N, "count": 1}).Keys[0]
}

func (p *libolmPeer) fallback(t testing.TB) string {
	t.Helper()
	return p.ask(t, request{"op": "fallback", "n": p.account.N}).Keys[0]
}

func (p *libolmPeer) begin(t testing.TB, k string, _ bool) {
	t.Helper()
	p.sessions = append(p.sessions, p.ask(t, request{"op": "outbound", "n": p.account.N, "curve": p.ours.Curve(), "key": k}))
}

func (p *libolmPeer) newest() answer { return p.sessions[len(p.sessions)-1] }

func (p *libolmPeer) seal(t testing.TB, text string) letter {
	t.Helper()
	a := p.ask(t, request{"op": "encrypt", "n": p.newest().N, "text": text})
	return letter{a.Typ, a.Body}
}

// open does what a client does: the session that a pre-key message names, else each one, else a new one.
func (p *libolmPeer) open(t testing.TB, l letter) (string, error) {
	t.Helper()
	r := request{"typ": l.typ, "body": unpadded(l.body), "curve": p.ours.Curve()}
	err := errors.New("no session")
	for i, s := range slices.Backward(p.sessions) {
		r["n"] = s.N
		if r["op"] = "matches"; l.typ == olm.TypePreKey && !p.ask(t, r).Yes {
			continue
		}
		r["op"] = "decrypt"
		var a answer
		if a, err = p.try(t, r); err == nil {
			p.sessions = append(slices.Delete(p.sessions, i, i+1), s)
			return a.Text, nil
		}
		if l.typ == olm.TypePreKey {
			return "", err
		}
	}
	if l.typ == olm.TypePreKey {
		r["op"], r["n"] = "inbound", p.account.N
		var a answer
		if a, err = p.try(t, r); err == nil {
			p.sessions = append(p.sessions, a)
			return a.Text, nil
		}
	}
	return "", err
}

func (p *libolmPeer) wrap(text string) string    { return text }
func (p *libolmPeer) unwrap(plain []byte) string { return string(plain) }

// vodozemacPeer is a machine. Our account is a device that it knows.
type vodozemacPeer struct {
	*child
	ours    *olm.Account
	account answer
	taken   int
	device  string
}

const peerUser = "@peer:test" // as in vodozemac.mjs

func newVodozemacPeer(t testing.TB, c *child, ours *olm.Account, stored bool) *vodozemacPeer {
	t.Helper()
	p := &vodozemacPeer{child: c, ours: ours, account: c.ask(t, request{"op": "account", "stored": stored})}
	p.device = fmt.Sprintf("D%d", p.account.N)
	p.ask(t, request{"op": "meet", "n": p.account.N, "device": p.device, "keys": p.signed(t, map[string]any{
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
	return p.ask(t, request{"op": "fallback", "n": p.account.N}).Keys[0]
}

func (p *vodozemacPeer) begin(t testing.TB, k string, isFallback bool) {
	t.Helper()
	object := map[string]any{"key": k}
	if isFallback {
		object["fallback"] = true
	}
	p.ask(t, request{"op": "outbound", "n": p.account.N, "device": p.device, "key": p.signed(t, object)})
}

func (p *vodozemacPeer) seal(t testing.TB, text string) letter {
	t.Helper()
	a := p.ask(t, request{"op": "encrypt", "n": p.account.N, "device": p.device, "text": text})
	return letter{a.Typ, a.Body}
}

func (p *vodozemacPeer) open(t testing.TB, l letter) (string, error) {
	t.Helper()
	a, err := p.try(t, request{"op": "decrypt", "n": p.account.N, "curve": p.ours.Curve(), "typ": l.typ, "body": unpadded(l.body)})
	return a.Text, err
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
		scenario(t, &pair{ours: ours, foreign: newLibolmPeer(t, libolm(t), ours)})
	})
	t.Run("vodozemac", func(t *testing.T) {
		t.Parallel()
		ours := account(t)
		scenario(t, &pair{ours: ours, foreign: newVodozemacPeer(t, vodozemac(t), ours, false)})
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
