package relay_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agntchat/agntchat/internal/letter"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
	"github.com/agntchat/agntchat/internal/relay"
	"github.com/agntchat/agntchat/internal/relay/relaytest"
)

const audience = "http://relay.test"

// place is a relay with its database, and a clock that the test sets.
type place struct {
	t      testing.TB
	db     *pg.DB
	office *letter.Office
	relay  *relay.Relay
	server *httptest.Server
	log    *syncBuffer
	reg    *prometheus.Registry
	*relaytest.Relay

	mu  sync.Mutex
	now time.Time
}

// syncBuffer is a log that the test reads while it is written.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// open starts a relay without limits but those that change sets.
func open(t testing.TB, change ...func(*relay.Config, *letter.Limits)) *place {
	t.Helper()
	db := pgtest.DB(t, func(c *pg.Config) { c.WaitTimeout = 5 * time.Minute }) // for a connection, of which tests have few
	return openOn(t, db, change...)
}

func openOn(t testing.TB, db *pg.DB, change ...func(*relay.Config, *letter.Limits)) *place {
	t.Helper()
	p := &place{t: t, db: db, log: &syncBuffer{}, reg: prometheus.NewRegistry(), now: time.Unix(1_800_000_000, 250_000_000)}
	p.office = &letter.Office{DB: db, Limits: letter.Limits{Lease: 30 * time.Second}}
	cfg := relay.Config{
		Office: p.office, Audiences: []string{audience}, Address: func(*http.Request) string { return "192.0.2.1" },
		Log: slog.New(slog.NewTextHandler(p.log, &slog.HandlerOptions{Level: slog.LevelDebug})), Metrics: p.reg, Clock: p.clock,
		MaxBody: 1 << 20, Timeout: time.Minute, MaxGroupSize: 100,
	}
	for _, c := range change {
		c(&cfg, &p.office.Limits)
	}
	p.relay = relay.New(cfg)
	p.server = httptest.NewServer(p.relay)
	t.Cleanup(func() {
		p.relay.Close()
		p.server.Close()
		if t.Failed() {
			t.Logf("the relay said:\n%s", p.log)
		}
	})
	p.Relay = &relaytest.Relay{URL: p.server.URL, Audience: audience, HTTP: p.server.Client(), Clock: p.clock}
	return p
}

func (p *place) clock() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// pass lets time go by.
func (p *place) pass(d time.Duration) { p.set(p.clock().Add(d)) }

func (p *place) set(at time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = at
}

func (p *place) ctx() context.Context { return p.t.Context() }

// user makes an identity with a mailbox and n one-time keys.
func (p *place) user(n int) *relaytest.User {
	p.t.Helper()
	u := relaytest.NewUser()
	p.ok(p.Publish(p.ctx(), u, n))
	return u
}

func (p *place) ok(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// refused checks an answer's status and that its text holds want.
func (p *place) refused(err error, status int, want string) {
	p.t.Helper()
	var no *relaytest.Refusal
	if !errors.As(err, &no) || no.Status != status || !strings.Contains(no.Text, want) {
		p.t.Errorf("got %v, want %d with %q", err, status, want)
	}
}

// send sends and must succeed.
func (p *place) send(from, to *relaytest.User, body string) int64 {
	p.t.Helper()
	out, err := p.Send(p.ctx(), from, to.Address, body)
	p.ok(err)
	if out.Refused.Refused {
		p.t.Fatalf("refused: %+v", out)
	}
	return out.MessageID
}

// bodies reads u's letters, of everybody or of one peer.
func (p *place) bodies(u *relaytest.User, peer string) []string {
	p.t.Helper()
	list, err := p.Read(p.ctx(), u, peer)
	p.ok(err)
	out := []string{}
	for _, m := range list {
		out = append(out, m.Body)
	}
	return out
}

// anybody is an identity that the relay does not know.
func (p *place) anybody() *relaytest.User { return relaytest.NewUser() }
