package socket

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strings"
	"sync"

	"github.com/coder/websocket"
	"github.com/google/uuid"

	"github.com/agntchat/agntchat/internal/realtime/phx"
)

// Path is where existing clients look for the socket.
const Path = "/socket/websocket"

// Server upgrades requests to sockets and keeps them. It is an http.Handler for
// Path and safe for concurrent use.
type Server struct {
	cfg      Config
	metrics  *metrics
	messages messages
	joining  chan struct{} // a slot per join that runs

	base   context.Context // of the handlers
	cancel context.CancelCauseFunc
	// running counts handlers, readers and drains.
	running sync.WaitGroup

	mu       sync.Mutex
	conns    map[*Conn]struct{}
	last     ticket
	opening  map[ticket]struct{} // upgrades under way
	each     map[string]int      // connections by participant
	orders   []order             // to close connections that may be among them
	draining bool
	cut      bool          // the drain has given up waiting: nothing starts any more
	empty    chan struct{} // closed when draining and the last connection is gone
}

// New makes a server. It starts nothing before the first upgrade.
func New(cfg Config) *Server {
	cfg.Limits = cfg.Limits.withDefaults()
	if cfg.ErrorReply == nil {
		cfg.ErrorReply = defaultErrorReply
	}
	base, cancel := context.WithCancelCause(context.Background())
	return &Server{
		cfg: cfg, metrics: newMetrics(cfg.Registerer), base: base, cancel: cancel,
		joining: make(chan struct{}, cfg.Limits.Joining),
		conns:   make(map[*Conn]struct{}), opening: make(map[ticket]struct{}), each: make(map[string]int), empty: make(chan struct{}),
	}
}

// ServeHTTP upgrades one request: vsn 2.0.x only (400), a known origin and a
// valid token (403), room for it (503) and for another one of the participant
// (429), both with Retry-After. It returns once the connection has its own
// goroutine.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if v := r.URL.Query().Get("vsn"); v != phx.Version && !strings.HasPrefix(v, "2.0.") {
		s.refuse(w, http.StatusBadRequest, "vsn", "this server speaks Phoenix serializer vsn=2.0.0 only")
		return
	}
	if !originAllowed(r, s.cfg.Origins) {
		s.refuse(w, http.StatusForbidden, "origin", "origin not allowed")
		return
	}
	ticket, ok := s.reserve()
	if !ok {
		w.Header().Set("Retry-After", "1")
		s.refuse(w, http.StatusServiceUnavailable, "capacity", "no capacity, try again")
		return
	}
	session, err := s.cfg.Authenticate(r.Context(), r)
	switch {
	case errors.Is(err, ErrUnavailable):
		s.unreserve(ticket)
		w.Header().Set("Retry-After", "1")
		s.refuse(w, http.StatusServiceUnavailable, "unavailable", "try again")
		return
	case err != nil:
		s.unreserve(ticket)
		s.refuse(w, http.StatusForbidden, "auth", "not authorised")
		return
	}
	if !s.admit(session.Participant) {
		s.unreserve(ticket)
		w.Header().Set("Retry-After", "5")
		s.refuse(w, http.StatusTooManyRequests, "participant", "too many connections")
		return
	}
	c := s.newConn(session, r)
	ws, err := websocket.Accept(hijacker{ResponseWriter: w, conn: c}, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // the origin was checked above
		CompressionMode:    websocket.CompressionDisabled,
	})
	if err != nil { // Accept has answered
		s.dismiss(session.Participant)
		s.unreserve(ticket)
		s.metrics.refused.WithLabelValues("handshake").Inc()
		return
	}
	ws.SetReadLimit(-1) // the reader has limits of its own
	c.ws = ws
	s.start(c, ticket)
}

func (s *Server) refuse(w http.ResponseWriter, status int, reason, text string) {
	s.metrics.refused.WithLabelValues(reason).Inc()
	http.Error(w, text, status)
}

func (s *Server) newConn(session Session, r *http.Request) *Conn {
	lim := &s.cfg.Limits
	c := &Conn{
		id: uuid.NewString(), session: session, remote: r.RemoteAddr, server: s,
		pushes: newBucket(lim.PushRate, lim.PushBurst),
		joins:  newBucket(lim.JoinRate, lim.JoinBurst),
	}
	c.out = outbox{
		lim: lim, metrics: s.metrics, spawn: s.running.Go,
		resyncs: r.URL.Query().Get("resync") == "1",
	}
	return c
}

// attach puts the connection's outbox between the library and the network.
func (c *Conn) attach(nc net.Conn) net.Conn {
	c.out.nc, c.out.raw = nc, newRawWriter(nc)
	return &wire{Conn: nc, out: &c.out, idle: c.server.cfg.Limits.Idle}
}

// joinSlot waits for one of the places of Limits.Joining, so that ten thousand
// clients that come back after a restart do not ask the database all at once.
func (s *Server) joinSlot(ctx context.Context) (release func(), err error) {
	select {
	case s.joining <- struct{}{}:
		return func() { <-s.joining }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
