package socket_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/phxtest"
	"github.com/agntchat/agntchat/internal/realtime/socket"
)

// quiet leaves out the stacks of handlers that panic on purpose.
const quiet = slog.LevelError + 1

// house is a server with a bus whose channels are made of functions.
type house struct {
	t      testing.TB
	bus    *realtime.Bus
	server *socket.Server
	http   *httptest.Server
	base   string
	script *script
}

// script is what the channels of a house do; zero fields do the obvious.
type script struct {
	join   func(ctx context.Context, m *socket.Member, params json.RawMessage) (any, error)
	joined func(ctx context.Context, m *socket.Member)
	push   func(ctx context.Context, m *socket.Member, event string, payload json.RawMessage) (any, error)
	left   chan string // "topic reason"
	// smallBuffers keeps the kernel from taking megabytes for a slow reader.
	smallBuffers bool
}

func build(t testing.TB, s *script, change func(*socket.Config)) *house {
	t.Helper()
	if s.left == nil {
		s.left = make(chan string, 10_000)
	}
	h := &house{t: t, bus: realtime.NewBus(realtime.Config{}), script: s}
	cfg := socket.Config{
		Bus: h.bus,
		Authenticate: func(_ context.Context, r *http.Request) (socket.Session, error) {
			token := r.URL.Query().Get("token")
			switch token {
			case "bad":
				return socket.Session{}, errors.New("bad token")
			case "outage":
				return socket.Session{}, fmt.Errorf("ask: %w", socket.ErrUnavailable)
			}
			return socket.Session{Participant: token}, nil
		},
		Route: func(topic string) (socket.Channel, bool) {
			if strings.HasPrefix(topic, "nowhere") {
				return nil, false
			}
			if s.joined != nil {
				return joinedChannel{channel{s}}, true
			}
			return channel{s}, true
		},
		Log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: quiet})),
	}
	if change != nil {
		change(&cfg)
	}
	h.server = socket.New(cfg)
	mux := http.NewServeMux()
	mux.Handle(socket.Path, h.server)
	h.http = httptest.NewUnstartedServer(mux)
	if s.smallBuffers {
		h.http.Config.ConnContext = func(ctx context.Context, nc net.Conn) context.Context {
			if err := nc.(*net.TCPConn).SetWriteBuffer(64 << 10); err != nil {
				t.Error(err)
			}
			return ctx
		}
	}
	h.http.Start()
	h.base = h.http.URL
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), phxtest.Timeout)
		defer cancel()
		if err := h.server.Drain(ctx); err != nil {
			t.Errorf("drain: %v", err)
		}
		h.http.Close()
		h.bus.Wait()
	})
	return h
}

func (h *house) dial(who string) *phxtest.Client {
	h.t.Helper()
	return phxtest.Dial(h.t, h.base, phxtest.Options{Token: who})
}

func (h *house) dialWith(o phxtest.Options) *phxtest.Client {
	h.t.Helper()
	return phxtest.Dial(h.t, h.base, o)
}

func (h *house) broadcast(m realtime.Message) {
	h.t.Helper()
	if err := h.bus.Broadcast(m); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) expectLeft(want string) {
	h.t.Helper()
	if got := await(h.t, h.script.left, "a leave"); got != want {
		h.t.Fatalf("left %q, want %q", got, want)
	}
}

func await[T any](t testing.TB, ch <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(phxtest.Timeout):
		t.Fatalf("timed out waiting for %s", what)
		panic("unreachable")
	}
}

type channel struct{ s *script }

type joinedChannel struct{ channel }

func (c joinedChannel) Joined(ctx context.Context, m *socket.Member) { c.s.joined(ctx, m) }

func (c channel) Join(ctx context.Context, m *socket.Member, params json.RawMessage) (any, error) {
	if c.s.join != nil {
		return c.s.join(ctx, m, params)
	}
	return nil, nil
}

func (c channel) Push(ctx context.Context, m *socket.Member, event string, payload json.RawMessage) (any, error) {
	if c.s.push != nil {
		return c.s.push(ctx, m, event, payload)
	}
	return payload, nil
}

func (c channel) Leave(_ context.Context, m *socket.Member, reason socket.LeaveReason) {
	c.s.left <- m.Topic() + " " + string(reason)
}

// gate lets one side wait for the other.
type gate struct {
	once sync.Once
	ch   chan struct{}
}

func newGate() *gate  { return &gate{ch: make(chan struct{})} }
func (g *gate) open() { g.once.Do(func() { close(g.ch) }) }
func (g *gate) wait() { <-g.ch }

func params(kv ...string) url.Values {
	v := url.Values{}
	for i := 0; i < len(kv); i += 2 {
		v.Set(kv[i], kv[i+1])
	}
	return v
}
