// Package mcpserve offers the platform tools of running turns to an agent CLI
// over MCP: streamable HTTP on loopback, answered in JSON, one address per
// conversation, guarded by a token that exists only in memory and in files of
// mode 0600. [Stdio] offers other tools over standard input and output. It owns
// no tool.
package mcpserve

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/loopback"
)

// Name is the server's key in a CLI's configuration; tools appear as
// mcp__agntchat__<tool>.
const Name = "agntchat"

// Server serves the toolboxes of the turns that run now.
type Server struct {
	at *loopback.Server

	mu    sync.Mutex
	boxes map[string]backend.Toolbox // by conversation key
	idle  map[string][]backend.Tool  // catalogue between turns
	reads map[string]chan struct{}   // closed when the catalogue was read
}

// Start listens on a free loopback port.
func Start() (*Server, error) {
	at, err := loopback.Listen("tools")
	if err != nil {
		return nil, err
	}
	s := &Server{at: at, boxes: map[string]backend.Toolbox{}, idle: map[string][]backend.Tool{}, reads: map[string]chan struct{}{}}
	at.Serve(s)
	return s, nil
}

// Close ends the server and the calls that run in it.
func (s *Server) Close() error { return s.at.Close() }

// Token is the bearer token that callers must show.
func (s *Server) Token() string { return s.at.Secret() }

// URL is the address for one conversation. key must be a path segment.
func (s *Server) URL(key string) string { return s.at.URL("/mcp/" + key) }

// Bind makes a turn's tools callable at the address of its conversation until
// the returned function is called.
func (s *Server) Bind(key string, box backend.Toolbox) (unbind func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if box == nil {
		delete(s.boxes, key)
		return func() {}
	}
	s.boxes[key] = box
	s.idle[key] = box.Tools()
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.boxes, key)
	}
}

// Read returns a channel that is closed when a client next reads the catalogue
// of the conversation: from then on its model can use the tools.
func (s *Server) Read(key string) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := make(chan struct{})
	s.reads[key] = ch
	return ch
}

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// ServeHTTP answers one JSON-RPC request per POST. There is no server-sent
// stream: GET is refused, as the protocol allows.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	got := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !s.at.Knows(got) {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	key, ok := strings.CutPrefix(r.URL.Path, "/mcp/")
	switch {
	case !ok:
		w.WriteHeader(http.StatusNotFound)
		return
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusOK)
		return
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 8<<20))
	if err != nil {
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	var req request
	if json.Unmarshal(raw, &req) != nil || req.Method == "" {
		reply(w, nil, nil, -32700, "this is no single JSON-RPC request")
		return
	}
	if len(req.ID) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.answer(r.Context(), w, key, req)
}

func (s *Server) answer(ctx context.Context, w http.ResponseWriter, key string, req request) {
	a := respond(ctx, req, Info{Name: Name, Version: "1"}, func() []backend.Tool {
		s.mu.Lock()
		defer s.mu.Unlock()
		if ch := s.reads[key]; ch != nil {
			defer close(ch)
			delete(s.reads, key)
		}
		return s.idle[key]
	}, func(ctx context.Context, name string, args json.RawMessage) backend.ToolResult {
		s.mu.Lock()
		box := s.boxes[key]
		s.mu.Unlock()
		if box == nil {
			return backend.ToolResult{Text: `{"error":"No turn is running; tools can be used only while answering."}`, IsError: true}
		}
		return box.Call(ctx, name, args)
	})
	reply(w, req.ID, a.result, a.code, a.message)
}

func reply(w http.ResponseWriter, id json.RawMessage, result any, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(frame(id, answer{result, code, message}))
}
