package phxtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/presence"
	"github.com/agntchat/agntchat/internal/realtime/socket"
)

const (
	limit = 2 * time.Minute
	suite = "../../../interop/phoenix"
)

// TestPhoenixClient runs the official npm client of Phoenix Channels against our
// socket server: the same transport and bus as in production, with channels made
// for the purpose. The tests themselves are in interop/phoenix/client.test.js;
// this file serves them and lets them restart the server and close sockets.
func TestPhoenixClient(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	install(ctx, t)

	s := &site{log: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))}
	if err := s.start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	control, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	steering := &http.Server{Handler: s.control(), ReadHeaderTimeout: time.Minute}
	var wg sync.WaitGroup
	wg.Go(func() { _ = steering.Serve(control) })
	defer func() {
		_ = steering.Close()
		if err := s.stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
		wg.Wait()
	}()

	node := exec.CommandContext(ctx, "node", "--test", "--test-force-exit", "--test-reporter=spec", "client.test.js")
	node.Dir = suite
	node.WaitDelay = 5 * time.Second
	node.Env = append(os.Environ(), "PHX_URL=ws://"+s.addr+"/socket", "PHX_CONTROL=http://"+control.Addr().String())
	out, err := node.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatalf("node --test: %v", err)
	}
}

// install gets the pinned client if it is not there.
func install(ctx context.Context, t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Fatal("Node 20 is needed: it runs the official client")
	}
	lock, err := os.Stat(filepath.Join(suite, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	done, err := os.Stat(filepath.Join(suite, "node_modules", ".package-lock.json"))
	if err == nil && !done.ModTime().Before(lock.ModTime()) {
		return
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund")
	npm.Dir = suite
	if out, err := npm.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
}

// site is the server; it comes back on the same port after a restart.
type site struct {
	log  *slog.Logger
	addr string

	mu     sync.Mutex
	bus    *realtime.Bus
	server *socket.Server
	http   *http.Server
	online *presence.Tracker
	done   chan struct{}
}

func (s *site) start(addr string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	bus := realtime.NewBus(realtime.Config{})
	online := presence.New(presence.Config{Grace: 20 * time.Millisecond, OnChange: func(changes []presence.Change) {
		joins, leaves := map[string]any{}, map[string]any{}
		for _, c := range changes {
			if c.Online {
				joins[c.Participant] = metas(c.Participant)
			} else {
				leaves[c.Participant] = metas(c.Participant)
			}
		}
		diff := map[string]any{"joins": joins, "leaves": leaves}
		_ = bus.Broadcast(realtime.Message{Topic: "presence:all", Event: "presence_diff", Payload: diff})
	}})
	s.addr, s.bus, s.online, s.done = ln.Addr().String(), bus, online, make(chan struct{})
	s.server = socket.New(socket.Config{
		Bus: bus, Log: s.log,
		Authenticate: func(_ context.Context, r *http.Request) (socket.Session, error) {
			token := r.URL.Query().Get("token")
			if token == "" || token == "bad" {
				return socket.Session{}, errors.New("no")
			}
			return socket.Session{Participant: token}, nil
		},
		Route: func(topic string) (socket.Channel, bool) {
			if strings.HasPrefix(topic, "nowhere") {
				return nil, false
			}
			return &room{bus: bus, online: online}, true
		},
	})
	mux := http.NewServeMux()
	mux.Handle(socket.Path, s.server)
	s.http = &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	srv, done := s.http, s.done
	go func() {
		defer close(done)
		_ = srv.Serve(ln)
	}()
	return nil
}

func (s *site) stop() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := s.server.Drain(ctx)
	s.online.Close()
	_ = s.http.Close()
	<-s.done
	s.bus.Wait()
	return err
}

// control is the tests' own door: POST with a JSON body.
func (s *site) control() http.Handler {
	type order struct {
		Topic   string          `json:"topic"`
		Event   string          `json:"event"`
		Payload json.RawMessage `json:"payload"`
		Token   string          `json:"token"`
		Code    socket.Code     `json:"code"`
	}
	handle := func(do func(o order) error) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			var o order
			if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			if err := do(o); err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
			}
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /broadcast", handle(func(o order) error {
		return s.bus.Broadcast(realtime.Message{Topic: o.Topic, Event: o.Event, Payload: o.Payload})
	}))
	mux.HandleFunc("POST /close", handle(func(o order) error {
		s.server.CloseSession(func(c *socket.Conn) bool { return c.Session().Participant == o.Token }, o.Code, "by the test")
		return nil
	}))
	mux.HandleFunc("POST /stop", handle(func(order) error { return s.stop() }))
	mux.HandleFunc("POST /start", handle(func(order) error { return s.start(s.addr) }))
	return mux
}

func metas(who string) any {
	return map[string]any{"metas": []any{map[string]string{"phx_ref": "ref-" + who, "who": who}}}
}

// room does what the tests ask for by the names of topics and events.
type room struct {
	bus    *realtime.Bus
	online *presence.Tracker
}

func (r *room) Join(_ context.Context, m *socket.Member, params json.RawMessage) (any, error) {
	switch {
	case strings.HasPrefix(m.Topic(), "forbidden:"):
		return nil, socket.Reason("unauthorized")
	case m.Topic() == "presence:all":
		r.online.Connect(m.Conn().Session().Participant, m.Conn().ID())
	}
	return map[string]any{"params": params}, nil
}

func (r *room) Joined(_ context.Context, m *socket.Member) {
	if m.Topic() != "presence:all" {
		_ = m.Push("recent_messages", map[string]any{"messages": []string{}})
		return
	}
	state := map[string]any{}
	for _, who := range r.online.All() {
		state[who] = metas(who)
	}
	_ = m.Push("presence_state", state)
}

func (r *room) Push(_ context.Context, m *socket.Member, event string, payload json.RawMessage) (any, error) {
	switch event {
	case "echo":
		return payload, nil
	case "shout":
		return nil, r.bus.Broadcast(realtime.Message{Topic: m.Topic(), Event: "new_message", Payload: payload})
	case "typing":
		_ = r.bus.Broadcast(realtime.Message{Topic: m.Topic(), Event: "typing", ExceptConn: m.Conn().ID(), Droppable: true})
		return nil, socket.ErrNoReply
	case "refuse":
		return nil, socket.Reason("refused")
	case "end":
		m.Close()
		return nil, socket.ErrNoReply
	case "fail":
		m.Fail()
		return nil, socket.ErrNoReply
	case "panic":
		panic("asked for by the test")
	}
	return nil, socket.ErrUnknownEvent
}

func (r *room) Leave(_ context.Context, m *socket.Member, _ socket.LeaveReason) {
	if m.Topic() == "presence:all" {
		r.online.Disconnect(m.Conn().Session().Participant, m.Conn().ID())
	}
}
