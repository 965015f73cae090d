package relay_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letter"
	"github.com/agntchat/agntchat/internal/relay"
	"github.com/agntchat/agntchat/internal/relay/relaytest"
	wire "github.com/agntchat/agntchat/internal/wire/letter"
)

// TestL1_BodyTooLarge: 413 from Content-Length alone, before a byte of the body is
// sent, and for a body without a length; what fits passes (letters.md 6.1 hardening).
func TestL1_BodyTooLarge(t *testing.T) {
	t.Parallel()
	p := open(t, func(c *relay.Config, _ *letter.Limits) { c.MaxBody = 4000 })
	conn, err := (&net.Dialer{}).DialContext(p.ctx(), "tcp", p.server.Listener.Addr().String())
	p.ok(err)
	defer conn.Close()
	_, err = conn.Write([]byte("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4001\r\n\r\n"))
	p.ok(err)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	p.ok(err)
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	p.ok(err)
	if res.StatusCode != 413 || string(b) != `{"error":"request body too large: 4001 bytes (max 4000)"}` {
		t.Errorf("%d %s", res.StatusCode, b)
	}
	req, err := http.NewRequestWithContext(p.ctx(), "POST", p.URL, struct{ io.Reader }{strings.NewReader(strings.Repeat("x", 5000))})
	p.ok(err)
	res, err = p.HTTP.Do(req)
	p.ok(err)
	defer res.Body.Close()
	if res.StatusCode != 413 {
		t.Errorf("without a length: %d", res.StatusCode)
	}
	u := p.user(1)
	p.send(u, u, "fits")
}

// limited makes calls until one is answered 429. The budget grows while a busy
// machine works, so it does not ask after how many; a hundred are too many.
func (p *place) limited(call func() error) {
	p.t.Helper()
	var err error
	for range 100 {
		if err = call(); err != nil {
			break
		}
	}
	p.refused(err, 429, "rate limit exceeded; slow down and retry")
}

// TestL1_RateLimit: 429 after the limit, for this sender only (letters.md 6.1 hardening).
func TestL1_RateLimit(t *testing.T) {
	t.Parallel()
	p := open(t, func(c *relay.Config, _ *letter.Limits) { c.RatePerMinute, c.RateBurst = 1, 3 })
	u, v := relaytest.NewUser(), relaytest.NewUser()
	for range 3 {
		p.ok(p.Call(p.ctx(), u, "count_keys", map[string]any{}, nil))
	}
	p.limited(func() error { return p.Call(p.ctx(), u, "count_keys", map[string]any{}, nil) })
	none := map[string]any{}
	for after := ""; after == ""; { // until the call is one too many
		res, err := p.Open(p.ctx(), wire.NewRequest("count_keys", u.Auth("count_keys", audience, p.clock(), none), none))
		p.ok(err)
		_ = res.Body.Close()
		after = res.Header.Get("Retry-After")
		if n, err := strconv.Atoi(after); res.StatusCode == 429 && (err != nil || n < 1 || n > 60) {
			t.Fatalf("retry after %q seconds", after)
		}
	}
	p.ok(p.Call(p.ctx(), v, "count_keys", map[string]any{}, nil))
}

// TestL1_Bug6_ForgedCallsCostTheVictimNothing: neither a claimed fingerprint nor a
// replayed call uses up the budget of its owner.
func TestL1_Bug6_ForgedCallsCostTheVictimNothing(t *testing.T) {
	t.Parallel()
	p := open(t, func(c *relay.Config, _ *letter.Limits) { c.RatePerMinute, c.RateBurst = 1, 3 })
	u := relaytest.NewUser()
	none := map[string]any{}
	seen := wire.NewRequest("count_keys", u.Auth("count_keys", audience, p.clock(), none), none)
	p.ok(p.Post(p.ctx(), seen, nil))
	forged := u.Auth("count_keys", audience, p.clock(), none)
	forged.Nonce = "forged"
	for range 10 {
		p.refused(p.Post(p.ctx(), wire.NewRequest("count_keys", forged, none), nil), 400, "bad signature")
		p.refused(p.Post(p.ctx(), seen, nil), 400, "replay")
	}
	for range 2 {
		p.ok(p.Call(p.ctx(), u, "count_keys", none, nil))
	}
	p.limited(func() error { return p.Call(p.ctx(), u, "count_keys", none, nil) })
}

// TestL1_GuessingIsLimitedByNetworkAddress: failed signatures, API keys and
// passwords count together; good calls do not count.
func TestL1_GuessingIsLimitedByNetworkAddress(t *testing.T) {
	t.Parallel()
	p := open(t, func(c *relay.Config, _ *letter.Limits) {
		c.FailuresPerMin = 3
		c.Address = func(r *http.Request) string { return r.Header.Get("X-Test-Address") }
	})
	bad, good := *p.Relay, *p.Relay
	bad.Header, good.Header = http.Header{"X-Test-Address": {"198.51.100.1"}}, http.Header{"X-Test-Address": {"198.51.100.2"}}
	bad.Audience = "http://wrong.test"
	u := relaytest.NewUser()
	for range 10 {
		p.ok(good.Call(p.ctx(), u, "count_keys", map[string]any{}, nil))
	}
	for range 3 {
		p.refused(bad.Call(p.ctx(), u, "count_keys", map[string]any{}, nil), 400, "bad signature")
	}
	p.limited(func() error {
		var no *relaytest.Refusal
		if err := bad.Call(p.ctx(), u, "count_keys", map[string]any{}, nil); !errors.As(err, &no) || no.Status != 400 {
			return err
		}
		return nil
	})
	p.ok(good.Call(p.ctx(), u, "count_keys", map[string]any{}, nil))
}

// TestL1_NewMailboxesAreBounded by network address; known ones publish on.
func TestL1_NewMailboxesAreBounded(t *testing.T) {
	t.Parallel()
	p := open(t, func(c *relay.Config, _ *letter.Limits) { c.NewBoxesPerHour = 2 })
	u := p.user(1)
	p.user(1)
	p.refused(p.Publish(p.ctx(), relaytest.NewUser(), 1), 429, "rate limit")
	p.ok(p.Publish(p.ctx(), u, 1))
}

// TestL1_MailboxCap: a full mailbox refuses and keeps what it has; drained, it takes
// letters again; a letter that waits may be sent again (letters.md 6.1 mailbox_cap).
func TestL1_MailboxCap(t *testing.T) {
	t.Parallel()
	p := open(t, func(_ *relay.Config, l *letter.Limits) { l.Mailbox = 3 })
	a, to := relaytest.NewUser(), p.user(0)
	first := p.send(a, to, "1")
	p.send(a, to, "2")
	p.send(relaytest.NewUser(), to, "3")
	_, err := p.Send(p.ctx(), a, to.Address, "4")
	p.refused(err, 400, "mailbox full:")
	if again := p.send(a, to, "1"); again != first {
		t.Errorf("sent again to a full mailbox: id %d, want %d", again, first)
	}
	if got := p.bodies(to, ""); !slices.Equal(got, []string{"1", "2", "3"}) {
		t.Errorf("kept %v", got)
	}
	p.send(a, to, "4")
	if got := p.bodies(to, ""); !slices.Equal(got, []string{"4"}) {
		t.Errorf("drained, then %v", got)
	}
}

// TestL1_LeasesDoNotLiftTheCap: letters that are being handed out leave room for as
// many again, and not for more.
func TestL1_LeasesDoNotLiftTheCap(t *testing.T) {
	t.Parallel()
	p := open(t, func(_ *relay.Config, l *letter.Limits) { l.Mailbox = 3 })
	a, to := relaytest.NewUser(), p.user(0)
	for round := range 2 {
		for n := range 3 {
			p.send(a, to, fmt.Sprint(round, n))
		}
		var held wire.Leased
		p.ok(p.Call(p.ctx(), to, wire.ToolLease, map[string]any{}, &held))
		if len(held.Messages) != 3 {
			t.Errorf("leased %+v", held)
		}
	}
	_, err := p.Send(p.ctx(), a, to.Address, "one more")
	p.refused(err, 400, "mailbox full:")
}

// TestL1_CallsAreBoundedByNetworkAddress, but not for a proxy on this machine.
func TestL1_CallsAreBoundedByNetworkAddress(t *testing.T) {
	t.Parallel()
	p := open(t, func(c *relay.Config, _ *letter.Limits) {
		c.AddressPerMin = 3
		c.Address = func(r *http.Request) string { return r.Header.Get("X-Test-Address") }
	})
	for origin, counts := range map[string]bool{"198.51.100.1": true, "2001:db8::1": true, "127.0.0.1": false, "::1": false, "::ffff:127.0.0.1": false} {
		r := *p.Relay
		r.Header = http.Header{"X-Test-Address": {origin}}
		for range 3 {
			p.ok(r.Call(p.ctx(), relaytest.NewUser(), "count_keys", map[string]any{}, nil))
		}
		call := func() error { return r.Call(p.ctx(), relaytest.NewUser(), "count_keys", map[string]any{}, nil) }
		if counts {
			p.limited(call)
			continue
		}
		for range 10 {
			p.ok(call())
		}
	}
	neighbour := *p.Relay
	neighbour.Header = http.Header{"X-Test-Address": {"2001:db8::ffff:2"}} // of the same /64
	p.limited(func() error { return neighbour.Call(p.ctx(), relaytest.NewUser(), "count_keys", map[string]any{}, nil) })
}

// TestL1_MailboxCapPerSender hits one sender only.
func TestL1_MailboxCapPerSender(t *testing.T) {
	t.Parallel()
	p := open(t, func(_ *relay.Config, l *letter.Limits) { l.Mailbox, l.PerSender = 10, 2 })
	a, b, to := relaytest.NewUser(), relaytest.NewUser(), p.user(0)
	p.send(a, to, "1")
	p.send(a, to, "2")
	_, err := p.Send(p.ctx(), a, to.Address, "3")
	p.refused(err, 400, "mailbox full for sender:")
	p.send(b, to, "4")
	p.bodies(to, a.Address)
	p.send(a, to, "3")

	q := openOn(t, p.db, func(_ *relay.Config, l *letter.Limits) { l.PerSender = 1 }) // alone it is off
	q.send(a, to, "5")
	q.send(a, to, "6")
}

// TestL1_MailboxBytesAreBounded.
func TestL1_MailboxBytesAreBounded(t *testing.T) {
	t.Parallel()
	p := open(t, func(_ *relay.Config, l *letter.Limits) { l.MailboxBytes = 1000 })
	a, to := relaytest.NewUser(), p.user(0)
	p.send(a, to, strings.Repeat("x", 600))
	_, err := p.Send(p.ctx(), a, to.Address, strings.Repeat("y", 600))
	p.refused(err, 400, "mailbox full:")
	p.send(a, to, strings.Repeat("z", 400))
}

// TestL1_Bug9_EverythingEnds: letters, claimed keys, nonces and mailboxes go when
// their time is over, one-time keys are bounded, and connections are kept.
func TestL1_Bug9_EverythingEnds(t *testing.T) {
	t.Parallel()
	p := open(t, func(_ *relay.Config, l *letter.Limits) {
		l.LetterTTL, l.MailboxTTL, l.OneTimeKeys = 30*24*time.Hour, 180*24*time.Hour, 5
	})
	sweep := func() {
		t.Helper()
		_, err := p.office.Sweep(p.ctx(), p.clock())
		p.ok(err)
	}
	a, to := p.user(0), p.user(4)
	p.refused(p.Publish(p.ctx(), to, 2), 400, "too many one-time keys")
	p.ok(p.Publish(p.ctx(), to, 1))
	p.ok(p.Call(p.ctx(), a, "claim_key", map[string]any{"peer": to.Address}, nil))
	old := p.send(a, to, "m")
	p.pass(31 * 24 * time.Hour)
	if got := p.bodies(to, ""); len(got) != 0 {
		t.Errorf("an expired letter was handed out before it was swept: %v", got)
	}
	p.rows("letters", 1)
	if again := p.send(a, to, "m"); again == old { // its sender still has it, and sends it again
		t.Error("an expired letter counts as waiting")
	}
	if got := p.bodies(to, ""); !slices.Equal(got, []string{"m"}) {
		t.Errorf("sent anew: %v", got)
	}
	p.send(a, to, "n")
	p.pass(31 * 24 * time.Hour)
	sweep()
	p.rows("letters", 0)
	p.rows("letter_nonces", 0)
	p.rows("letter_one_time_keys", 4) // the claimed one is gone
	p.rows("letter_mailboxes", 2)
	p.pass(140 * 24 * time.Hour)
	p.ok(p.Call(p.ctx(), a, "count_keys", map[string]any{}, nil)) // a sign of life
	p.pass(60 * 24 * time.Hour)
	sweep()
	p.rows("letter_mailboxes", 1)
	p.rows("letter_one_time_keys", 0)
	p.ok(p.Call(p.ctx(), a, "get_keys", map[string]any{"peer": a.Address}, nil))
	p.refused(p.Call(p.ctx(), a, "get_keys", map[string]any{"peer": to.Address}, nil), 400, "unknown peer")
}

// TestL1_Bug1_ReuploadsAreKeptOnce: a sender that uploads its whole outbox with
// every send leaves one copy of each letter, under one id.
func TestL1_Bug1_ReuploadsAreKeptOnce(t *testing.T) {
	t.Parallel()
	p := open(t)
	a, to := relaytest.NewUser(), p.user(0)
	ids := map[string]int64{}
	for n := range 6 {
		for m := range n + 1 {
			body := fmt.Sprintf("letter %d", m)
			id := p.send(a, to, body)
			if had, again := ids[body]; again && had != id {
				t.Errorf("%s has ids %d and %d", body, had, id)
			}
			ids[body] = id
		}
	}
	p.send(relaytest.NewUser(), to, "letter 0") // the same text of somebody else is another letter
	if got := p.bodies(to, a.Address); len(got) != 6 {
		t.Errorf("%d copies of 6 letters: %v", len(got), got)
	}
	if id := p.send(a, to, "letter 0"); id == ids["letter 0"] { // collected: it is a new letter, which the recipient knows by its hash
		t.Error("a collected letter counts as waiting")
	}
}

// TestL1_PublishedTwiceIsGivenOnce: a repeated upload does not bring back a key,
// claimed or not.
func TestL1_PublishedTwiceIsGivenOnce(t *testing.T) {
	t.Parallel()
	p := open(t)
	u := relaytest.NewUser()
	args := u.Publication(2)
	publish := func() (out wire.Published) {
		p.ok(p.Call(p.ctx(), u, "publish_keys", args, &out))
		return out
	}
	publish()
	var k wire.ClaimedKey
	p.ok(p.Call(p.ctx(), u, "claim_key", map[string]any{"peer": u.Address}, &k))
	if again := publish(); again.OneTimeKeysAdded != 0 {
		t.Errorf("added again: %+v", again)
	}
	var l wire.ClaimedKey
	p.ok(p.Call(p.ctx(), u, "claim_key", map[string]any{"peer": u.Address}, &l))
	if l.OneTimeKey == k.OneTimeKey || l.Fallback {
		t.Errorf("claimed %+v after %+v", l, k)
	}
	p.ok(p.Call(p.ctx(), u, "claim_key", map[string]any{"peer": u.Address}, &l))
	if !l.Fallback {
		t.Errorf("a key was given twice: %+v", l)
	}
}

// TestL1_Bug8_ACutAnswerLosesNothing: the answer breaks off in the middle, and the
// letters come again at once; somebody who hung up before gets none.
func TestL1_Bug8_ACutAnswerLosesNothing(t *testing.T) {
	t.Parallel()
	p := open(t)
	ended := make(chan struct{}, 8)
	var inner http.Handler = p.relay
	p.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inner.ServeHTTP(w, r)
		ended <- struct{}{}
	})
	a, to := relaytest.NewUser(), p.user(0)
	<-ended
	var want []string
	for range 9 {
		body := relaytest.RandomBody(600_000) // far more than the buffers of a connection
		p.send(a, to, body)
		<-ended
		want = append(want, body)
	}
	none := map[string]any{}
	req := wire.NewRequest("read_messages", to.Auth("read_messages", audience, p.clock(), none), none)
	ctx, hangUp := context.WithCancel(p.ctx())
	res, err := p.Open(ctx, req)
	p.ok(err)
	if _, err := io.ReadFull(res.Body, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	hangUp()
	_ = res.Body.Close()
	<-ended
	got := p.bodies(to, "")
	got = append(got, p.bodies(to, "")...) // what does not fit one answer comes with the next
	if !slices.Equal(got, want) {
		t.Errorf("after a cut answer: %d letters, want %d", len(got), len(want))
	}
	p.rows("letters", 0)
}

// TestL1_LeaseHidesAndEnds: what is being handed out is not handed out again, until
// the lease runs out because the relay died before it knew the end.
func TestL1_LeaseHidesAndEnds(t *testing.T) {
	t.Parallel()
	p := open(t)
	a, to := relaytest.NewUser(), p.user(0)
	p.send(a, to, "1")
	// The hand-out of a relay that dies before it has written the answer.
	lease, list, err := p.office.Lease(p.ctx(), letter.Call{Caller: to.Address, Nonce: "n", Now: p.clock()}, "")
	if err != nil || len(list) != 1 || lease == "" {
		t.Fatalf("lease: %q %v %v", lease, list, err)
	}
	p.send(a, to, "2")
	if id := p.send(a, to, "1"); id != list[0].ID {
		t.Errorf("sent again while handed out: %d, want %d", id, list[0].ID)
	}
	if got := p.bodies(to, ""); !slices.Equal(got, []string{"2"}) {
		t.Errorf("while the lease lasts: %v", got)
	}
	p.pass(29 * time.Second)
	if got := p.bodies(to, ""); len(got) != 0 {
		t.Errorf("after 29 s: %v", got)
	}
	p.pass(time.Second)
	if got := p.bodies(to, ""); !slices.Equal(got, []string{"1"}) {
		t.Errorf("after 30 s: %v", got)
	}
	if n, err := p.office.Collected(p.ctx(), to.Address, lease); n != 0 || err != nil {
		t.Errorf("a lost lease deleted %d, %v", n, err)
	}
}

// TestL1_WaitingSenders tells whose letters could be handed out, each once, and hands nothing out.
func TestL1_WaitingSenders(t *testing.T) {
	t.Parallel()
	p := open(t, func(_ *relay.Config, l *letter.Limits) { l.LetterTTL = time.Hour })
	a, b, to := relaytest.NewUser(), relaytest.NewUser(), p.user(0)
	senders := func(u *relaytest.User) (out wire.Waiting) {
		t.Helper()
		p.ok(p.Call(p.ctx(), u, wire.ToolSenders, map[string]any{}, &out))
		slices.Sort(out.Senders)
		return out
	}
	if w := senders(to); w.Senders == nil || len(w.Senders) != 0 || w.More {
		t.Errorf("of nobody: %+v", w)
	}
	p.send(a, to, "1")
	p.send(a, to, "2")
	p.send(b, to, "3")
	want := []string{a.Address, b.Address}
	slices.Sort(want)
	for range 2 {
		if w := senders(to); !slices.Equal(w.Senders, want) || w.More {
			t.Errorf("%+v, want %v", w, want)
		}
	}
	if w := senders(a); len(w.Senders) != 0 {
		t.Errorf("of another mailbox: %+v", w)
	}
	var out wire.Leased
	p.ok(p.Call(p.ctx(), to, wire.ToolLease, map[string]any{"peer": b.Address}, &out))
	if w := senders(to); !slices.Equal(w.Senders, []string{a.Address}) {
		t.Errorf("while one is handed out: %+v", w)
	}
	p.pass(31 * time.Second)
	if w := senders(to); !slices.Equal(w.Senders, want) {
		t.Errorf("after the lease: %+v", w)
	}
	p.pass(time.Hour)
	if w := senders(to); len(w.Senders) != 0 {
		t.Errorf("when the letters are too old: %+v", w)
	}
	if err := p.Call(p.ctx(), to, wire.ToolSenders, map[string]any{"peer": a.Address}, nil); err == nil {
		t.Error("an argument was taken")
	}
}

// TestL1_LeaseAndConfirm is the read of our own clients: nothing is deleted before
// they say that it has arrived.
func TestL1_LeaseAndConfirm(t *testing.T) {
	t.Parallel()
	p := open(t)
	a, to, other := relaytest.NewUser(), p.user(0), p.user(0)
	p.send(a, to, "1")
	lease := func() (out wire.Leased) {
		t.Helper()
		p.ok(p.Call(p.ctx(), to, wire.ToolLease, map[string]any{"peer": a.Address}, &out))
		return out
	}
	first := lease()
	if len(first.Messages) != 1 || first.Seconds != 30 || first.Lease == "" {
		t.Fatalf("leased %+v", first)
	}
	if again := lease(); len(again.Messages) != 0 || again.Lease != "" || again.Messages == nil {
		t.Errorf("leased twice: %+v", again)
	}
	p.pass(31 * time.Second)
	second := lease()
	confirm := func(u *relaytest.User, l string) (out wire.Confirmed) {
		t.Helper()
		p.ok(p.Call(p.ctx(), u, wire.ToolConfirm, map[string]any{"lease": l}, &out))
		return out
	}
	if n := confirm(other, second.Lease).Deleted + confirm(to, first.Lease).Deleted + confirm(to, "no lease").Deleted; n != 0 {
		t.Errorf("a foreign, lost or made-up lease deleted %d", n)
	}
	if n := confirm(to, second.Lease).Deleted; n != 1 {
		t.Errorf("confirmed: %d", n)
	}
	p.rows("letters", 0)
}

// TestL1_OneAnswerIsBounded: a thousand letters, the rest with the next call.
func TestL1_OneAnswerIsBounded(t *testing.T) {
	t.Parallel()
	p := open(t)
	a, to := relaytest.NewUser(), p.user(0)
	_, err := p.db.Exec(p.ctx(), `INSERT INTO letters (sent_at, sender, recipient, mtype, hash, body)
SELECT $3::double precision, $1, $2, 1, sha256(n::text::bytea), n::text::bytea FROM generate_series(1, 1500) AS n`, a.Address, to.Address, float64(p.clock().Unix()))
	p.ok(err)
	first, second, third := p.bodies(to, ""), p.bodies(to, ""), p.bodies(to, "")
	if len(first) != 1000 || len(second) != 500 || len(third) != 0 || first[0] != "1" || second[499] != "1500" {
		t.Errorf("%d, %d and %d letters", len(first), len(second), len(third))
	}
	p.send(a, to, strings.Repeat("x", 900_000)) // one alone always fits
	if got := p.bodies(to, ""); len(got) != 1 {
		t.Errorf("%d letters", len(got))
	}
}

// TestL1_LargeLettersHideNoRequest: a look that leaves letters where they are shows the small ones, among which contact requests are,
// however many large ones a stranger left before them.
func TestL1_LargeLettersHideNoRequest(t *testing.T) {
	t.Parallel()
	p := open(t)
	flood, asks, to := relaytest.NewUser(), relaytest.NewUser(), p.user(0)
	_, err := p.db.Exec(p.ctx(), `INSERT INTO letters (sent_at, sender, recipient, mtype, hash, body)
SELECT $3::double precision, $1, $2, 0, sha256(n::text::bytea), convert_to(n::text || repeat('x', 900000), 'UTF8') FROM generate_series(1, 30) AS n`, flood.Address, to.Address, float64(p.clock().Unix()))
	p.ok(err)
	p.send(asks, to, "request")
	var seen []wire.Message
	p.ok(p.Call(p.ctx(), to, wire.ToolReadMessages, map[string]any{"peek": true}, &seen))
	if n := len(seen); n < 2 || seen[n-1].Body != "request" || !slices.IsSortedFunc(seen, func(a, b wire.Message) int { return cmp.Compare(a.MessageID, b.MessageID) }) {
		t.Errorf("of 30 large letters and a small one after them, %d are seen", n)
	}
	p.rows("letters", 31)
}

// TestL1_NothingOfWhoWritesToWhomIsLoggedOrCounted, whatever happens.
func TestL1_NothingOfWhoWritesToWhomIsLoggedOrCounted(t *testing.T) {
	t.Parallel()
	p := open(t)
	a, to := p.user(1), p.user(1)
	p.send(a, to, "c2VjcmV0")
	p.nack(to, "c2VjcmV0")
	p.bodies(to, a.Address)
	p.refused(p.Call(p.ctx(), a, "get_keys", map[string]any{"peer": "no\x00body"}, nil), 400, "")
	_, err := p.db.Exec(p.ctx(), `ALTER TABLE letter_refusals RENAME TO broken`)
	p.ok(err)
	p.refused(p.Call(p.ctx(), to, "nack", to.Nack("x"), nil), 500, "internal error")
	families, err := p.reg.Gather()
	p.ok(err)
	var seen bytes.Buffer
	for _, f := range families {
		fmt.Fprintln(&seen, f.String())
	}
	if !strings.Contains(p.log.String(), "call failed") || !strings.Contains(seen.String(), "send_message") {
		t.Errorf("nothing to look at:\n%s\n%s", p.log, &seen)
	}
	for _, u := range []*relaytest.User{a, to} {
		for _, secret := range []string{u.Address, u.IdentityKey, u.SigningKey, "c2VjcmV0", "192.0.2.1"} {
			if strings.Contains(p.log.String(), secret) || strings.Contains(seen.String(), secret) {
				t.Errorf("%q is in the log or in a metric", secret)
			}
		}
	}
}
