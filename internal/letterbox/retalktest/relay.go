// Package retalktest is a letter relay for tests that behaves as retalk 0.3 does (contract letters section 1): it checks
// arguments as strictly, deletes letters before its answer is written, keeps every copy of a letter, and has nothing of ours.
// It is written from the contract, in memory, and shares no code with our relay. Tests may look into it and make it fail.
package retalktest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/wire/letter"
)

// Mail is a stored letter.
type Mail struct {
	ID       int64
	TS       float64
	From, To string
	MType    int
	Body     string
}

type user struct {
	identity, signing string
	oneTime           [][2]string // id and key, oldest first
	fallback          [2]string
}

// Call is a request as a test sees it.
type Call struct {
	Tool string
	From string // address of the caller
	Args map[string]any
}

// Relay is the server. Set the fields before the first request, or through Lock.
type Relay struct {
	URL       string
	Audiences []string // further addresses that signatures may name, of proxies

	mu           sync.Mutex
	users        map[string]*user
	mail         []Mail
	refused      map[string]string // recipient|hash → signature
	nonces       map[string]bool
	next         int64
	calls        []Call
	Before       func(Call) error                              // refuse a call: its text is the relay's error
	After        func(Call, http.ResponseWriter, *[]byte) bool // false: the answer is not written
	MaxGroup     int
	MaxMailbox   int
	NoPeek       bool
	TamperedKeys map[string]letter.Keys // whose keys to lie about
}

// New starts a relay for a test.
func New(t testing.TB) *Relay {
	t.Helper()
	r := &Relay{users: map[string]*user{}, refused: map[string]string{}, nonces: map[string]bool{}, MaxGroup: 100, TamperedKeys: map[string]letter.Keys{}}
	s := httptest.NewUnstartedServer(http.HandlerFunc(r.serve))
	r.URL = "http://" + s.Listener.Addr().String() // before it serves: clients may be other processes
	s.Start()
	t.Cleanup(s.Close)
	return r
}

// Lock runs fn while no request is served.
func (r *Relay) Lock(fn func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fn()
}

// Wipe forgets everything, as a relay does whose database was lost.
func (r *Relay) Wipe() {
	r.Lock(func() { r.users, r.mail, r.refused = map[string]*user{}, nil, map[string]string{} })
}

// LoseMail forgets the letters.
func (r *Relay) LoseMail() { r.Lock(func() { r.mail = nil }) }

// ForgetRefusals is the end of every refusal's time.
func (r *Relay) ForgetRefusals() { r.Lock(func() { clear(r.refused) }) }

// Mail are the letters for an address.
func (r *Relay) Mail(to string) (list []Mail) {
	r.Lock(func() {
		for _, m := range r.mail {
			if m.To == to {
				list = append(list, m)
			}
		}
	})
	return list
}

// Put stores a letter as if from had sent it.
func (r *Relay) Put(from, to string, mtype int, body string) {
	r.Lock(func() { r.put(from, to, mtype, body) })
}

// Calls are the requests so far, of one tool or of all.
func (r *Relay) Calls(tool string) (list []Call) {
	r.Lock(func() {
		for _, c := range r.calls {
			if tool == "" || c.Tool == tool {
				list = append(list, c)
			}
		}
	})
	return list
}

// SpendKeys forgets the one-time keys of an address: what is left is its fallback key.
func (r *Relay) SpendKeys(of string) { r.Lock(func() { r.users[of].oneTime = nil }) }

// Unclaimed counts one-time keys, and says how many of them are there more than once.
func (r *Relay) Unclaimed(of string) (n, twice int) {
	r.Lock(func() {
		seen := map[string]bool{}
		for _, k := range r.users[of].oneTime {
			if seen[k[1]] {
				twice++
			}
			seen[k[1]] = true
			n++
		}
	})
	return n, twice
}

func (r *Relay) serve(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	r.mu.Lock()
	defer r.mu.Unlock()
	if req.Method == http.MethodGet {
		if req.URL.Path != "/info" {
			write(w, http.StatusNotFound, map[string]any{"error": "not found"})
			return
		}
		write(w, http.StatusOK, map[string]any{"max_group_size": r.MaxGroup})
		return
	}
	body, err := io.ReadAll(io.LimitReader(req.Body, 1<<20+1))
	if err != nil || len(body) > 1<<20 {
		write(w, http.StatusRequestEntityTooLarge, map[string]any{"error": fmt.Sprintf(letter.TextBodyTooLarge, len(body), 1<<20)})
		return
	}
	call, result, err := r.handle(body)
	status := http.StatusOK
	if err != nil {
		status, result = http.StatusBadRequest, map[string]any{"error": err.Error()}
	}
	r.calls = append(r.calls, call)
	answer, err := json.Marshal(result)
	if err != nil {
		panic(err)
	}
	if r.After != nil && !r.After(call, w, &answer) {
		panic(http.ErrAbortHandler) // the connection ends without an answer
	}
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

func write(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	w.WriteHeader(status)
	_, _ = w.Write(b)
}

// arguments are what each tool takes; the value says whether it must be there.
var arguments = map[string]map[string]bool{
	letter.ToolPublishKeys: {"identity_key": true, "signing_key": true, "one_time_keys": true, "fallback_key": false},
	letter.ToolCountKeys:   {}, letter.ToolGetKeys: {"peer": true}, letter.ToolClaimKey: {"peer": true},
	letter.ToolSendMessage:  {"to": true, "mtype": true, "body": true},
	letter.ToolReadMessages: {"peer": false, "peek": false}, letter.ToolNack: {"hash": true, "sig": true},
}

func (r *Relay) handle(body []byte) (Call, any, error) {
	var req struct {
		Tool string         `json:"tool"`
		Args map[string]any `json:"args"`
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	if err := dec.Decode(&req); err != nil {
		return Call{}, nil, err
	}
	auth, _ := req.Args["auth"].(map[string]any)
	delete(req.Args, "auth")
	c := Call{Tool: req.Tool, Args: req.Args}
	c.From, _ = auth["fingerprint"].(string)
	takes, known := arguments[req.Tool]
	if !known {
		return c, nil, fmt.Errorf("'%s'", req.Tool)
	}
	for name := range req.Args {
		if _, ok := takes[name]; !ok {
			return c, nil, fmt.Errorf("%s() got an unexpected keyword argument '%s'", req.Tool, name)
		}
	}
	for name, must := range takes {
		if _, ok := req.Args[name]; must && !ok {
			return c, nil, fmt.Errorf("%s() missing 1 required positional argument: '%s'", req.Tool, name)
		}
	}
	if err := r.verify(c, auth); err != nil {
		return c, nil, err
	}
	if r.NoPeek && req.Args["peek"] != nil {
		return c, nil, errors.New("read_messages() got an unexpected keyword argument 'peek'")
	}
	if r.Before != nil {
		if err := r.Before(c); err != nil {
			return c, nil, err
		}
	}
	result, err := r.run(c, auth)
	return c, result, err
}

// verify rebuilds the arguments as the real server does: read_messages signs peer and peek only when they say something.
func (r *Relay) verify(c Call, auth map[string]any) error {
	text := func(name string) string { s, _ := auth[name].(string); return s }
	a := letter.Auth{Fingerprint: text("fingerprint"), IdentityKey: text("identity_key"), SigningKey: text("signing_key"), Timestamp: text("timestamp"), Nonce: text("nonce"), Signature: text("signature")}
	if letter.Address(a.IdentityKey, a.SigningKey) != a.Fingerprint {
		return errors.New(letter.TextForeignKeys)
	}
	at, err := strconv.ParseFloat(a.Timestamp, 64)
	if err != nil || math.Abs(float64(time.Now().Unix())-at) > letter.ClockWindow {
		return errors.New(letter.TextStale)
	}
	args := maps.Clone(c.Args)
	if c.Tool == letter.ToolPublishKeys && args["fallback_key"] == nil {
		args["fallback_key"] = nil
	}
	if c.Tool == letter.ToolReadMessages {
		for _, name := range []string{"peer", "peek"} {
			if v := args[name]; v == nil || v == "" || v == false {
				delete(args, name)
			}
		}
	}
	good := false
	for _, audience := range append([]string{r.URL}, r.Audiences...) {
		signed, err := letter.SignedText(c.Tool, audience, a, args)
		if err != nil {
			return err
		}
		ok, err := letter.Verify(a.SigningKey, signed, a.Signature)
		good = good || ok && err == nil
	}
	if !good {
		return errors.New(letter.TextBadSignature + " (wrong audience or arguments)")
	}
	if r.nonces[a.Nonce] {
		return errors.New(letter.TextReplay)
	}
	r.nonces[a.Nonce] = true
	return nil
}

func (r *Relay) run(c Call, auth map[string]any) (any, error) {
	str := func(name string) string { s, _ := c.Args[name].(string); return s }
	switch c.Tool {
	case letter.ToolPublishKeys:
		return r.publish(c)
	case letter.ToolCountKeys:
		u := r.users[c.From]
		if u == nil {
			return map[string]any{"unclaimed": 0, "has_fallback": false}, nil
		}
		return map[string]any{"unclaimed": len(u.oneTime), "has_fallback": u.fallback[1] != ""}, nil
	case letter.ToolGetKeys, letter.ToolClaimKey:
		return r.keys(c.Tool, str("peer"))
	case letter.ToolSendMessage:
		n, err := c.Args["mtype"].(json.Number).Int64()
		if err != nil {
			return nil, err
		}
		return r.send(c.From, str("to"), int(n), str("body"))
	case letter.ToolReadMessages:
		return r.read(c.From, str("peer"), c.Args["peek"] == true), nil
	}
	sig, hash := str("sig"), str("hash")
	signing, _ := auth["signing_key"].(string)
	if ok, err := letter.Verify(signing, letter.NackText(c.From, hash), sig); err != nil || !ok || !letter.IsHash(hash) {
		return nil, errors.New(letter.TextBadNack)
	}
	r.refused[c.From+"|"+hash] = sig
	return map[string]any{"ok": true}, nil
}

func (r *Relay) publish(c Call) (any, error) {
	identity, _ := c.Args["identity_key"].(string)
	signing, _ := c.Args["signing_key"].(string)
	if letter.Address(identity, signing) != c.From {
		return nil, errors.New("keys do not hash to the caller")
	}
	u := r.users[c.From]
	if u == nil {
		u = &user{identity: identity, signing: signing}
		r.users[c.From] = u
	}
	keys, _ := c.Args["one_time_keys"].(map[string]any)
	for _, id := range slices.Sorted(maps.Keys(keys)) {
		k, _ := keys[id].(string)
		u.oneTime = append(u.oneTime, [2]string{id, k})
	}
	fallback, _ := c.Args["fallback_key"].(map[string]any)
	for id, k := range fallback {
		key, _ := k.(string)
		u.fallback = [2]string{id, key}
	}
	return map[string]any{"ok": true, "fingerprint": c.From, "one_time_keys_added": len(keys), "fallback_key_set": len(fallback) > 0}, nil
}

func (r *Relay) keys(tool, peer string) (any, error) {
	u := r.users[peer]
	if u == nil {
		return nil, errors.New(letter.TextUnknownPeer + peer)
	}
	out := map[string]any{"identity_key": u.identity, "signing_key": u.signing}
	if k, lies := r.TamperedKeys[peer]; lies {
		out["identity_key"], out["signing_key"] = k.IdentityKey, k.SigningKey
	}
	if tool == letter.ToolGetKeys {
		return out, nil
	}
	key, fallback := u.fallback, true
	if len(u.oneTime) > 0 {
		key, fallback = u.oneTime[0], false
		u.oneTime = u.oneTime[1:]
	}
	if key[1] == "" {
		return nil, errors.New(letter.TextNoKeys)
	}
	out["key_id"], out["one_time_key"], out["fallback"] = key[0], key[1], fallback
	return out, nil
}

func (r *Relay) send(from, to string, mtype int, body string) (any, error) {
	if r.users[to] == nil {
		return nil, errors.New(letter.TextUnknownRecipient + to)
	}
	sum := sha256.Sum256([]byte(body))
	hash := hex.EncodeToString(sum[:])
	if sig, ok := r.refused[to+"|"+hash]; ok {
		return map[string]any{"refused": true, "hash": hash, "sig": sig}, nil
	}
	if r.MaxMailbox > 0 {
		n := 0
		for _, m := range r.mail {
			if m.To == to {
				n++
			}
		}
		if n >= r.MaxMailbox {
			return nil, errors.New(letter.TextMailboxFull + ": " + to)
		}
	}
	m := r.put(from, to, mtype, body)
	return map[string]any{"message_id": m.ID, "ts": m.TS}, nil
}

func (r *Relay) put(from, to string, mtype int, body string) Mail {
	r.next++
	m := Mail{ID: r.next, TS: float64(time.Now().UnixNano()) / 1e9, From: from, To: to, MType: mtype, Body: body}
	r.mail = append(r.mail, m)
	return m
}

func (r *Relay) read(to, peer string, peek bool) any {
	list := []map[string]any{}
	var rest []Mail
	for _, m := range r.mail {
		if m.To != to || peer != "" && m.From != peer {
			rest = append(rest, m)
			continue
		}
		list = append(list, map[string]any{"message_id": m.ID, "ts": m.TS, "from": m.From, "mtype": m.MType, "body": m.Body})
	}
	if !peek {
		r.mail = rest
	}
	return list
}

// Refuse makes the relay say that a recipient refused a ciphertext, with a signature of the test's choice.
func (r *Relay) Refuse(recipient, body, sig string) {
	r.Lock(func() { r.refused[recipient+"|"+letter.BodyHash(body)] = sig })
}
