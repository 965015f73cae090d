package socket_test

import (
	"context"
	"net/http"
	"runtime"
	"testing"

	"github.com/agntchat/agntchat/internal/realtime/phxtest"
	"github.com/agntchat/agntchat/internal/realtime/socket"
)

func TestUpgradeRefusals(t *testing.T) {
	t.Parallel()
	h := build(t, &script{}, func(c *socket.Config) {
		c.Origins = []string{"tauri://localhost", "http://localhost:1420", "https://*.example.org"}
	})
	origin := func(o string) http.Header { return http.Header{"Origin": {o}} }
	for _, tc := range []struct {
		name string
		opts phxtest.Options
		want int
	}{
		{"good", phxtest.Options{Token: "ann"}, 101},
		{"bad token", phxtest.Options{Token: "bad"}, 403},
		{"authentication is down", phxtest.Options{Token: "outage"}, 503},
		{"vsn 1", phxtest.Options{Token: "ann", VSN: "1.0.0"}, 400},
		{"vsn nonsense", phxtest.Options{Token: "ann", VSN: "2"}, 400},
		{"listed origin", phxtest.Options{Token: "ann", Header: origin("tauri://localhost")}, 101},
		{"listed origin with port", phxtest.Options{Token: "ann", Header: origin("http://localhost:1420")}, 101},
		{"wildcard origin", phxtest.Options{Token: "ann", Header: origin("https://a.example.org")}, 101},
		{"wildcard is no suffix", phxtest.Options{Token: "ann", Header: origin("https://a.example.org.evil.net")}, 403},
		{"own origin", phxtest.Options{Token: "ann", Header: origin(h.base)}, 101},
		{"other port", phxtest.Options{Token: "ann", Header: origin("http://localhost:1421")}, 403},
		{"other scheme", phxtest.Options{Token: "ann", Header: origin("https://localhost:1420")}, 403},
		{"null origin", phxtest.Options{Token: "ann", Header: origin("null")}, 403},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, status, err := phxtest.TryDial(t, h.base, tc.opts)
			if status != tc.want {
				t.Fatalf("status %d (%v), want %d", status, err, tc.want)
			}
			if c != nil {
				c.Heartbeat()
			}
		})
	}
}

func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	h := build(t, &script{}, func(c *socket.Config) { c.Limits.Conns, c.Limits.Each = 1, 1 })
	first := h.dial("ann")
	first.Heartbeat()
	if _, status, _ := phxtest.TryDial(t, h.base, phxtest.Options{Token: "bob"}); status != 503 {
		t.Fatalf("status %d, want 503", status)
	}
}

// TestOneParticipantCannotTakeAllPlaces: beyond its share it is refused, and a
// place that became free is given again.
func TestOneParticipantCannotTakeAllPlaces(t *testing.T) {
	t.Parallel()
	h := build(t, &script{}, func(c *socket.Config) { c.Limits.Conns = 4 })
	first := h.dial("ann")
	room := first.Join("r", nil)
	h.dial("ann")
	if _, status, _ := phxtest.TryDial(t, h.base, phxtest.Options{Token: "ann"}); status != 429 {
		t.Fatalf("status %d, want 429", status)
	}
	h.dial("bob").Heartbeat()
	room.Leave()
	h.expectLeft("r left")
	first.Close()
	for h.server.Len() > 2 {
		runtime.Gosched()
	}
	h.dial("ann").Heartbeat()
}

func TestPlainRequestIsRefused(t *testing.T) {
	t.Parallel()
	h := build(t, &script{}, nil)
	resp, err := http.Get(h.base + socket.Path + "?token=ann&vsn=2.0.0")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusUpgradeRequired {
		t.Fatalf("status %d, want 426", resp.StatusCode)
	}
	if n := h.server.Len(); n != 0 {
		t.Fatalf("%d connections", n)
	}
}

// TestManyFastClients sends the first frame together with the handshake's end, so
// that net/http's background read may hold its first byte.
func TestManyFastClients(t *testing.T) {
	t.Parallel()
	h := build(t, &script{}, nil)
	for range 200 {
		c := h.dial("ann")
		c.Join("room:1", nil)
		c.Cut()
	}
}

func TestCloseSession(t *testing.T) {
	t.Parallel()
	h := build(t, &script{}, nil)
	ann1, ann2, bob := h.dial("ann"), h.dial("ann"), h.dial("bob")
	for _, c := range []*phxtest.Client{ann1, ann2, bob} {
		c.Heartbeat()
	}
	n := h.server.CloseSession(func(c *socket.Conn) bool { return c.Session().Participant == "ann" },
		socket.CodePolicy, "session revoked")
	if n != 2 {
		t.Fatalf("closed %d", n)
	}
	for _, c := range []*phxtest.Client{ann1, ann2} {
		if code, reason := c.Closed(); code != 1008 || reason != "session revoked" {
			t.Fatalf("closed %d %q", code, reason)
		}
	}
	bob.Heartbeat()
}

// TestCloseSessionDuringUpgrade: a session that is revoked after its token was
// checked and before its socket is open does not slip through.
func TestCloseSessionDuringUpgrade(t *testing.T) {
	t.Parallel()
	checked, release := newGate(), newGate()
	h := build(t, &script{}, func(c *socket.Config) {
		check := c.Authenticate
		c.Authenticate = func(ctx context.Context, r *http.Request) (socket.Session, error) {
			s, err := check(ctx, r)
			if s.Participant == "ann" {
				checked.open()
				release.wait()
			}
			return s, err
		}
	})
	ann := make(chan *phxtest.Client, 1)
	go func() { ann <- h.dial("ann") }()
	checked.wait()
	bob := h.dial("bob") // a later upgrade does not make the order forgotten
	h.server.CloseSession(func(c *socket.Conn) bool { return c.Session().Participant == "ann" }, socket.CodePolicy, "revoked")
	h.dial("cyd").Heartbeat()
	release.open()
	if code, reason := await(t, ann, "a client").Closed(); code != 1008 || reason != "revoked" {
		t.Fatalf("closed %d %q", code, reason)
	}
	bob.Heartbeat()
	h.dial("ann").Heartbeat() // signed in again: the order is spent
}

func TestNeverClosesWith1000(t *testing.T) {
	t.Parallel()
	h := build(t, &script{}, nil)
	c := h.dial("ann")
	c.Heartbeat()
	h.server.Conns()[0].Close(1000, "bye")
	if code, _ := c.Closed(); code != 1001 {
		t.Fatalf("closed %d, want 1001", code)
	}
}
