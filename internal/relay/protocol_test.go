package relay_test

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letter"
	"github.com/agntchat/agntchat/internal/relay"
	"github.com/agntchat/agntchat/internal/relay/relaytest"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

// TestL1_PublishIsTheOnlyOnboarding: keys, a claimed key, a letter, its collection;
// and nothing of it stays (letters.md 6.1 e2ee).
func TestL1_PublishIsTheOnlyOnboarding(t *testing.T) {
	t.Parallel()
	p := open(t)
	alice, bob := relaytest.NewUser(), relaytest.NewUser()
	var count wire.KeyCount
	p.ok(p.Call(p.ctx(), alice, wire.ToolCountKeys, map[string]any{}, &count))
	if count != (wire.KeyCount{}) {
		t.Errorf("an unknown address has %+v", count)
	}
	var pub wire.Published
	p.ok(p.Call(p.ctx(), bob, wire.ToolPublishKeys, bob.Publication(3), &pub))
	if pub != (wire.Published{OK: true, Fingerprint: bob.Address, OneTimeKeysAdded: 3, FallbackKeySet: true}) {
		t.Errorf("published: %+v", pub)
	}
	var keys wire.Keys
	p.ok(p.Call(p.ctx(), alice, wire.ToolGetKeys, map[string]any{"peer": bob.Address}, &keys))
	if keys != (wire.Keys{IdentityKey: bob.IdentityKey, SigningKey: bob.SigningKey}) {
		t.Errorf("keys: %+v", keys)
	}
	before := p.clock()
	id := p.send(alice, bob, "Y2lwaGVydGV4dA==") // whoever sends need not be published
	p.pass(time.Second)
	list, err := p.Read(p.ctx(), bob, "")
	p.ok(err)
	want := wire.Message{MessageID: id, TS: float64(before.UnixMilli()) / 1000, From: alice.Address, MType: 1, Body: "Y2lwaGVydGV4dA=="}
	if len(list) != 1 || list[0] != want {
		t.Errorf("read %+v, want %+v", list, want)
	}
	if again := p.bodies(bob, ""); len(again) != 0 {
		t.Errorf("read twice: %v", again)
	}
	p.rows("letters", 0)
}

func (p *place) rows(table string, want int) {
	p.t.Helper()
	var n int
	p.ok(p.db.QueryRow(p.ctx(), `SELECT count(*) FROM `+table).Scan(&n))
	if n != want {
		p.t.Errorf("%s has %d rows, want %d", table, n, want)
	}
}

// TestL1_FallbackWhenKeysAreGone: keys go out in the order of publication, each
// once; then the fallback, again and again; without one there is an error.
func TestL1_FallbackWhenKeysAreGone(t *testing.T) {
	t.Parallel()
	p := open(t)
	alice, bob := relaytest.NewUser(), relaytest.NewUser()
	raw := func(keys string, fallback any) []byte { // the order of an object is kept
		args := map[string]any{"identity_key": bob.IdentityKey, "signing_key": bob.SigningKey, "one_time_keys": map[string]any{"Z": "zz", "A": "aa", "M": "mm"}, "fallback_key": fallback}
		if keys == "{}" {
			args["one_time_keys"] = map[string]any{}
		}
		b, err := json.Marshal(wire.NewRequest(wire.ToolPublishKeys, bob.Auth(wire.ToolPublishKeys, audience, p.clock(), args), args))
		p.ok(err)
		return []byte(strings.Replace(string(b), `{"A":"aa","M":"mm","Z":"zz"}`, keys, 1))
	}
	p.ok(p.Post(p.ctx(), raw(`{"Z":"zz","A":"aa","M":"mm"}`, nil), nil))
	claim := func() (k wire.ClaimedKey, err error) {
		err = p.Call(p.ctx(), alice, wire.ToolClaimKey, map[string]any{"peer": bob.Address}, &k)
		return k, err
	}
	for _, want := range []string{"Z", "A", "M"} {
		if k, err := claim(); err != nil || k.KeyID != want || k.Fallback || k.IdentityKey != bob.IdentityKey || k.SigningKey != bob.SigningKey {
			t.Errorf("claimed %+v %v, want %s", k, err, want)
		}
	}
	_, err := claim()
	p.refused(err, 400, "no one-time keys left for peer")
	var count wire.KeyCount
	p.ok(p.Call(p.ctx(), bob, wire.ToolCountKeys, map[string]any{}, &count))
	if count.HasFallback || count.Unclaimed != 0 {
		t.Errorf("count: %+v", count)
	}
	p.ok(p.Post(p.ctx(), raw("{}", map[string]any{"F": "ff"}), nil))
	p.ok(p.Post(p.ctx(), raw("{}", nil), nil)) // null leaves the fallback where it is
	for range 2 {
		if k, err := claim(); err != nil || k.KeyID != "F" || k.OneTimeKey != "ff" || !k.Fallback {
			t.Errorf("fallback: %+v %v", k, err)
		}
	}
	_, err = claim()
	p.ok(err)
	p.refused(p.Call(p.ctx(), alice, wire.ToolClaimKey, map[string]any{"peer": alice.Address}, nil), 400, "unknown peer or no published keys: "+alice.Address)
	p.refused(p.Call(p.ctx(), alice, wire.ToolGetKeys, map[string]any{"peer": alice.Address}, nil), 400, "unknown peer or no published keys: "+alice.Address)
	p.refused(p.Call(p.ctx(), alice, wire.ToolSendMessage, map[string]any{"to": alice.Address, "mtype": 0, "body": "x"}, nil), 400, "unknown recipient: "+alice.Address)
	// Only one's own keys can be published.
	p.refused(p.Call(p.ctx(), alice, wire.ToolPublishKeys, bob.Publication(1), nil), 400, "hash to user_id")
}

// TestL1_SignedRequests: what a signature covers and when it is good (letters.md 1.2).
func TestL1_SignedRequests(t *testing.T) {
	t.Parallel()
	p := open(t)
	u := p.user(1)
	none := map[string]any{}
	at := func(offset time.Duration) error {
		return p.Post(p.ctx(), wire.NewRequest(wire.ToolCountKeys, u.Auth(wire.ToolCountKeys, audience, p.clock().Add(offset), none), none), nil)
	}
	p.ok(at(149 * time.Second))
	p.ok(at(-149 * time.Second))
	p.refused(at(152*time.Second), 400, "stale or future timestamp")
	p.refused(at(-152*time.Second), 400, "stale or future timestamp")
	p.refused(at(-time.Hour), 400, "stale or future timestamp")

	post := func(change func(a map[string]any)) error {
		b, err := json.Marshal(u.Auth(wire.ToolCountKeys, audience, p.clock(), none))
		p.ok(err)
		var a map[string]any
		p.ok(json.Unmarshal(b, &a))
		change(a)
		return p.Post(p.ctx(), map[string]any{"tool": "count_keys", "args": map[string]any{"auth": a}}, nil)
	}
	p.ok(post(func(map[string]any) {}))
	p.ok(post(func(a map[string]any) { a["timestamp"] = json.Number(a["timestamp"].(string)) }))
	p.ok(post(func(a map[string]any) { a["further"] = "member" }))
	p.ok(post(func(a map[string]any) { a["signature"] = a["signature"].(string) + "==" }))
	for _, name := range []string{"fingerprint", "identity_key", "signing_key", "timestamp", "nonce", "signature"} {
		p.refused(post(func(a map[string]any) { delete(a, name) }), 400, "'"+name+"'")
	}
	p.refused(post(func(a map[string]any) { a["nonce"] = 5 }), 400, "'nonce'")
	p.refused(post(func(a map[string]any) { a["nonce"] = "another" }), 400, "bad signature (")
	p.refused(post(func(a map[string]any) { a["signature"] = "AAAA" }), 400, "bad signature (")
	p.refused(post(func(a map[string]any) { a["fingerprint"] = relaytest.NewUser().Address }), 400, "auth keys do not hash to user_id")
	p.refused(post(func(a map[string]any) { a["identity_key"] = a["identity_key"].(string) + "=" }), 400, "auth keys do not hash to user_id")

	// A signature for another server is none here.
	other := *p.Relay
	other.Audience = "http://elsewhere.test"
	p.refused(other.Call(p.ctx(), u, wire.ToolCountKeys, none, nil), 400, "bad signature")
	// The same call twice is refused, also when its nonce is somebody else's.
	req := wire.NewRequest(wire.ToolCountKeys, u.Auth(wire.ToolCountKeys, audience, p.clock(), none), none)
	p.ok(p.Post(p.ctx(), req, nil))
	p.refused(p.Post(p.ctx(), req, nil), 400, "replay detected: nonce already used")
	v := relaytest.NewUser()
	a := wire.Auth{Fingerprint: v.Address, IdentityKey: v.IdentityKey, SigningKey: v.SigningKey, Timestamp: req.Args["auth"].(wire.Auth).Timestamp, Nonce: req.Args["auth"].(wire.Auth).Nonce}
	p.ok(a.Sign(v.Key, wire.ToolCountKeys, audience, none))
	p.refused(p.Post(p.ctx(), wire.NewRequest(wire.ToolCountKeys, a, none), nil), 400, "replay")
	// A call that was refused has used its nonce, too.
	args := map[string]any{"to": v.Address, "mtype": 1, "body": "x"}
	req = wire.NewRequest(wire.ToolSendMessage, u.Auth(wire.ToolSendMessage, audience, p.clock(), args), args)
	p.refused(p.Post(p.ctx(), req, nil), 400, "unknown recipient")
	p.ok(p.Publish(p.ctx(), v, 0))
	p.refused(p.Post(p.ctx(), req, nil), 400, "replay")
}

// TestL1_ArgumentsAsThePythonServerTakesThem: missing, unknown and malformed ones
// are 400 with Python's words (letters.md 1.1).
func TestL1_ArgumentsAsThePythonServerTakesThem(t *testing.T) {
	t.Parallel()
	p := open(t)
	u := p.user(0)
	for body, want := range map[string]string{
		``: "not a JSON object", `[]`: "not a JSON object", `null`: "not a JSON object", `{`: "not a JSON object", "\xff": "not UTF-8",
		`{}`: "'tool'", `{"tool":5}`: "'tool'", `{"tool":"nope","args":{}}`: "'nope'", `{"tool":"count_keys","args":[]}`: "'args'",
		`{"tool":"count_keys"}`: "auth", `{"tool":"count_keys","args":{"auth":1}}`: "'auth'", `{"tool":"count_keys","args":{"auth":{}}}`: "'fingerprint'",
		`{"tool":"\ud800"}`: "not UTF-8", `{"tool":"\ud83d\ude00x"}`: "'😀x'", `{"tool":"\\ud800"}`: `'\ud800'`,
	} {
		p.refused(p.Post(p.ctx(), []byte(body), nil), 400, want)
	}
	call := func(tool string, args map[string]any) error { return p.Call(p.ctx(), u, tool, args, nil) }
	p.refused(call("count_keys", map[string]any{"zzz": 1}), 400, "count_keys() got an unexpected keyword argument 'zzz'")
	p.refused(call("get_keys", nil), 400, "get_keys() missing 1 required positional argument: 'peer'")
	p.refused(call("send_message", map[string]any{"to": "x"}), 400, "send_message() missing 2 required positional arguments: 'mtype' and 'body'")
	for _, args := range []map[string]any{
		{"to": u.Address, "mtype": 1.5, "body": "x"}, {"to": u.Address, "mtype": "1", "body": "x"}, {"to": u.Address, "mtype": nil, "body": "x"},
		{"to": u.Address, "mtype": json.Number("9223372036854775808"), "body": "x"}, {"to": 5, "mtype": 1, "body": "x"}, {"to": u.Address, "mtype": 1, "body": nil},
	} {
		p.refused(call("send_message", args), 400, "must be")
	}
	p.refused(call("get_keys", map[string]any{"peer": "a\x00b"}), 400, "cannot be stored")
	for _, fallback := range []any{map[string]any{}, map[string]any{"a": "1", "b": "2"}, "x", map[string]any{"a": 1}} {
		args := u.Publication(0)
		args["fallback_key"] = fallback
		p.refused(call("publish_keys", args), 400, "'fallback_key'")
	}
	args := u.Publication(0)
	args["one_time_keys"] = []any{}
	p.refused(call("publish_keys", args), 400, "'one_time_keys'")

	// mtype and body are opaque: any integer, any text.
	for n, body := range []string{"", "not base64", "\x00\x01", "ünï😀", strings.Repeat("x", 1<<19)} {
		out := wire.Sent{}
		p.ok(p.Call(p.ctx(), u, "send_message", map[string]any{"to": u.Address, "mtype": n - 7, "body": body}, &out))
		list, err := p.Read(p.ctx(), u, "")
		p.ok(err)
		if len(list) != 1 || list[0].Body != body || list[0].MType != int64(n-7) || list[0].MessageID != out.MessageID {
			t.Errorf("%.20q came back as %.200v", body, list)
		}
	}
}

// TestL1_OptionalArgumentsAreSignedWhenTruthy: peer and peek of read_messages, and
// null for a fallback key that was left out.
func TestL1_OptionalArgumentsAreSignedWhenTruthy(t *testing.T) {
	t.Parallel()
	p := open(t)
	u := p.user(0)
	read := func(given, signed map[string]any) error {
		return p.Post(p.ctx(), wire.NewRequest("read_messages", u.Auth("read_messages", audience, p.clock(), signed), given), nil)
	}
	for _, args := range []map[string]any{{"peer": nil}, {"peer": ""}, {"peek": false}, {"peek": nil, "peer": ""}} {
		p.ok(read(args, map[string]any{}))
		p.refused(read(args, args), 400, "bad signature")
	}
	both := map[string]any{"peer": u.Address, "peek": true}
	p.ok(read(both, both))
	p.refused(read(both, map[string]any{"peer": u.Address}), 400, "bad signature")
	p.refused(read(map[string]any{"peek": "yes"}, map[string]any{"peek": "yes"}), 400, "'peek'")

	signed := u.Publication(1)
	signed["fallback_key"] = nil
	given := maps.Clone(signed)
	delete(given, "fallback_key")
	var pub wire.Published
	p.ok(p.Post(p.ctx(), wire.NewRequest("publish_keys", u.Auth("publish_keys", audience, p.clock(), signed), given), &pub))
	if pub.FallbackKeySet || pub.OneTimeKeysAdded != 1 {
		t.Errorf("published %+v", pub)
	}
	p.refused(p.Post(p.ctx(), wire.NewRequest("publish_keys", u.Auth("publish_keys", audience, p.clock(), given), given), nil), 400, "bad signature")
}

// TestL1_ReadInOrderOfOnePeerAndPeek: arrival order, one sender's letters only,
// and a look that leaves them (letters.md 6.1 receive_multi, invite_watch_stall).
func TestL1_ReadInOrderOfOnePeerAndPeek(t *testing.T) {
	t.Parallel()
	p := open(t)
	to, a, b := p.user(0), relaytest.NewUser(), relaytest.NewUser()
	for _, body := range []string{"1", "2", "3"} {
		p.send(a, to, "a"+body)
		p.send(b, to, "b"+body)
	}
	peek := func(peer string) (out []string) {
		args, list := map[string]any{"peek": true}, []wire.Message{}
		if peer != "" {
			args["peer"] = peer
		}
		p.ok(p.Call(p.ctx(), to, "read_messages", args, &list))
		for _, m := range list {
			out = append(out, m.Body)
		}
		return out
	}
	all := []string{"a1", "b1", "a2", "b2", "a3", "b3"}
	for range 2 {
		if got := peek(""); !slices.Equal(got, all) {
			t.Errorf("peek: %v", got)
		}
	}
	if got := peek(b.Address); !slices.Equal(got, []string{"b1", "b2", "b3"}) {
		t.Errorf("peek of one: %v", got)
	}
	if got := p.bodies(to, a.Address); !slices.Equal(got, []string{"a1", "a2", "a3"}) {
		t.Errorf("read of one: %v", got)
	}
	if got := p.bodies(to, relaytest.NewUser().Address); len(got) != 0 {
		t.Errorf("read of a stranger: %v", got)
	}
	if got := p.bodies(to, ""); !slices.Equal(got, []string{"b1", "b2", "b3"}) {
		t.Errorf("read of the rest: %v", got)
	}
	if got := p.bodies(a, ""); len(got) != 0 {
		t.Errorf("the sender reads %v", got)
	}
}

// TestL1_RoutingLooksAtTheLastSegment: any prefix works; what is no call has the
// answers of letters.md 1.1.
func TestL1_RoutingLooksAtTheLastSegment(t *testing.T) {
	t.Parallel()
	p := open(t)
	u := p.user(0)
	for _, path := range []string{"", "/", "/some/prefix", "/info", "/events/", "/admin/x"} {
		r := *p.Relay
		r.URL += path
		p.ok(r.Call(p.ctx(), u, "count_keys", map[string]any{}, nil))
	}
	ask := func(method, path string) (int, string) {
		req, err := http.NewRequestWithContext(p.ctx(), method, p.URL+path, nil)
		p.ok(err)
		res, err := p.HTTP.Do(req)
		p.ok(err)
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		p.ok(err)
		return res.StatusCode, string(b)
	}
	for _, path := range []string{"/info", "/a/b/info/", "/info//"} {
		if code, body := ask("GET", path); code != 200 || !strings.Contains(body, `"max_group_size":100`) {
			t.Errorf("GET %s: %d %s", path, code, body)
		}
	}
	for _, path := range []string{"/", "/x", "/info/x", "/admin", "/events"} {
		if code, body := ask("GET", path); code != 404 || body != `{"error":"not found"}` {
			t.Errorf("GET %s: %d %s", path, code, body)
		}
	}
	for _, method := range []string{"HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		if code, body := ask(method, "/info"); code != 501 || (method != "HEAD" && !strings.Contains(body, "<html>")) {
			t.Errorf("%s: %d %s", method, code, body)
		}
	}
}

// TestL1_MultiAudience: clients with the old and the new address work together; one
// audience is exact (letters.md 6.1 multi_audience).
func TestL1_MultiAudience(t *testing.T) {
	t.Parallel()
	p := open(t, func(c *relay.Config, _ *letter.Limits) {
		c.Audiences = []string{"https://old.test", "https://new.test/r"}
	})
	alice, bob := relaytest.NewUser(), relaytest.NewUser()
	older, newer, slash := *p.Relay, *p.Relay, *p.Relay
	older.Audience, newer.Audience, slash.Audience = "https://old.test", "https://new.test/r", "https://old.test/"
	p.ok(older.Publish(p.ctx(), alice, 1))
	p.ok(newer.Publish(p.ctx(), bob, 1))
	_, err := older.Send(p.ctx(), alice, bob.Address, "hello")
	p.ok(err)
	list, err := newer.Read(p.ctx(), bob, alice.Address)
	p.ok(err)
	if len(list) != 1 || list[0].Body != "hello" {
		t.Errorf("read %v", list)
	}
	_, err = slash.Read(p.ctx(), bob, "") // a slash more is another address
	p.refused(err, 400, "bad signature")
}

// TestL1_AnEmptyDatabaseIsNoDisaster: after a wipe clients notice by has_fallback,
// publish again and send again (letters.md 1.7, 6.1 sync).
func TestL1_AnEmptyDatabaseIsNoDisaster(t *testing.T) {
	t.Parallel()
	p := open(t)
	alice, bob := p.user(2), p.user(2)
	p.send(alice, bob, "m")
	_, err := p.db.Exec(p.ctx(), `TRUNCATE letter_mailboxes, letter_one_time_keys, letters, letter_nonces, letter_refusals`)
	p.ok(err)
	var count wire.KeyCount
	p.ok(p.Call(p.ctx(), bob, "count_keys", map[string]any{}, &count))
	if count.HasFallback || count.Unclaimed != 0 {
		t.Errorf("count after the wipe: %+v", count)
	}
	p.ok(p.Publish(p.ctx(), bob, 2))
	p.send(alice, bob, "m")
	if got := p.bodies(bob, alice.Address); !slices.Equal(got, []string{"m"}) {
		t.Errorf("after the wipe: %v", got)
	}
}
