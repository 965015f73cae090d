package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/proc"
)

// errGone means that the process ended.
var errGone = errors.New("codex ended")

// rpcError is an error answer of the app-server.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return fmt.Sprintf("codex answered %d: %s", e.Code, e.Message) }

type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *rpcError       `json:"error,omitempty"`
}

// server is one app-server process with its router: answers go to whoever
// asked, notifications to the turn of their thread.
type server struct {
	p    *proc.Process
	log  *slog.Logger
	done chan struct{}

	mu      sync.Mutex
	next    int
	waiting map[string]chan message
	threads map[string]follower
}

// follower is the turn that runs in a thread.
type follower struct {
	events chan message
	gated  bool // it answers approvals
}

func startServer(ctx context.Context, spec proc.Spec, log *slog.Logger) (*server, error) {
	p, err := proc.Start(spec)
	if err != nil {
		return nil, &backend.Error{Code: backend.CodeMissing, Message: "Codex could not be started.", Cause: err}
	}
	s := &server{p: p, log: log, done: make(chan struct{}), waiting: map[string]chan message{}, threads: map[string]follower{}}
	go s.read()
	log.Info("codex started", "pid", p.Pid())
	ctx, cancel := context.WithTimeout(ctx, 60*time.Second)
	defer cancel()
	init := map[string]any{
		"clientInfo":   map[string]any{"name": "agnt", "title": "agntchat bridge", "version": "1"},
		"capabilities": map[string]any{"experimentalApi": true},
	}
	if err := s.call(ctx, "initialize", init, nil); err != nil {
		s.stop(0)
		return nil, &backend.Error{Code: backend.CodeModel, Message: "Codex did not start. " + backend.Short(p.Stderr()), Cause: err}
	}
	if err := p.Send(map[string]any{"method": "initialized"}); err != nil {
		s.stop(0)
		return nil, &backend.Error{Code: backend.CodeModel, Message: "Codex did not start.", Cause: err}
	}
	return s, nil
}

func (s *server) alive() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

func (s *server) stop(grace time.Duration) {
	if grace <= 0 {
		s.p.Kill()
	}
	t := time.AfterFunc(grace, s.p.Kill)
	defer t.Stop()
	s.p.CloseInput()
	<-s.done
}

func (s *server) read() {
	defer close(s.done)
	for raw := range s.p.Lines() {
		var m message
		if json.Unmarshal(raw, &m) != nil {
			continue
		}
		switch {
		case m.Method == "" && len(m.ID) > 0:
			s.mu.Lock()
			ch := s.waiting[string(m.ID)]
			delete(s.waiting, string(m.ID))
			s.mu.Unlock()
			if ch != nil {
				ch <- m
			}
		case len(m.ID) > 0:
			s.request(m)
		default:
			s.notify(m)
		}
	}
}

// request hands an approval that the CLI asks for to the turn of its thread, if
// that has a gate. Everything else is refused from here.
func (s *server) request(m message) {
	if approvals[m.Method] != "" {
		var p struct {
			ThreadID string `json:"threadId"`
		}
		_ = json.Unmarshal(m.Params, &p)
		s.mu.Lock()
		ch := s.threads[p.ThreadID]
		s.mu.Unlock()
		if ch.gated {
			s.notify(m)
			return
		}
	}
	s.refuse(m)
}

func (s *server) refuse(m message) {
	var answer any
	switch m.Method {
	case execApproval, fileApproval:
		answer = map[string]any{"decision": "decline"}
	case "mcpServer/elicitation/request":
		answer = map[string]any{"action": "decline"}
	}
	s.log.Info("codex request refused", "method", m.Method)
	out := map[string]any{"id": m.ID, "result": answer}
	if answer == nil {
		out = map[string]any{"id": m.ID, "error": rpcError{-32601, "not supported by this bridge"}}
	}
	s.answer(out)
}

// answer sends without waiting for the CLI to read.
func (s *server) answer(out any) {
	go func() { _ = s.p.Send(out) }()
}

// notify hands a notification to its thread; a thread without a turn has none.
func (s *server) notify(m message) {
	var p struct {
		ThreadID string `json:"threadId"`
	}
	_ = json.Unmarshal(m.Params, &p)
	s.mu.Lock()
	ch := s.threads[p.ThreadID].events
	s.mu.Unlock()
	if ch == nil {
		return
	}
	select {
	case ch <- m:
	case <-time.After(30 * time.Second):
		s.log.Warn("codex notification dropped", "method", m.Method)
	}
}

// follow receives the notifications of a thread, and with gated its requests for
// approval, until leave is called.
func (s *server) follow(threadID string, gated bool) (ch chan message, leave func()) {
	ch = make(chan message, 1024)
	s.mu.Lock()
	s.threads[threadID] = follower{ch, gated}
	s.mu.Unlock()
	return ch, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.threads, threadID)
	}
}

// call sends a request and waits for its answer. Errors: *rpcError, errGone,
// or the context's.
func (s *server) call(ctx context.Context, method string, params, out any) error {
	s.mu.Lock()
	s.next++
	id := strconv.Itoa(s.next)
	ch := make(chan message, 1)
	s.waiting[id] = ch
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.waiting, id)
	}()
	if err := s.p.Send(map[string]any{"id": json.RawMessage(id), "method": method, "params": params}); err != nil {
		return errGone
	}
	select {
	case m := <-ch:
		if m.Error != nil {
			return m.Error
		}
		if out == nil {
			return nil
		}
		if err := json.Unmarshal(m.Result, out); err != nil {
			return fmt.Errorf("decode answer of %s: %w", method, err)
		}
		return nil
	case <-s.done:
		return errGone
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
