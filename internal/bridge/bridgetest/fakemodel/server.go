// Package fakemodel is a model provider on loopback: Anthropic Messages, OpenAI
// Responses and Chat Completions, streaming, with scripted faults. Official
// SDKs and real agent CLIs run against it, so it is exact about the protocol
// and knows nothing about agntchat.
package fakemodel

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// Step is one scripted answer.
type Step struct {
	Text   string
	Tools  []Tool        // tool calls after the text
	Status int           // answer this HTTP status instead
	After  time.Duration // Retry-After of an error answer
	Cut    bool          // close the connection in the middle of the text
	// Gate, when set, holds the stream after the first word until it is closed
	// or the client has gone.
	Gate chan struct{}
	// Empty answers with a correct message that has no content.
	Empty bool
}

// Tool is one tool call of the model.
type Tool struct {
	Name string
	Args string // JSON object
	// Namespace is OpenAI Responses' way to name an MCP server's tools.
	Namespace string
}

// Request is one request that arrived.
type Request struct {
	Path   string
	Header http.Header
	Body   map[string]any
	Raw    string
}

type rule struct {
	contains string
	steps    []Step
	next     int
}

// Server is one fake provider.
type Server struct {
	URL string

	t        testing.TB
	mu       sync.Mutex
	rules    []*rule
	requests []Request
	changed  chan struct{}
	gone     chan struct{} // a client left a gated stream
}

// New starts a provider that ends with the test.
func New(t testing.TB) *Server {
	s, stop := Open()
	s.t = t
	t.Cleanup(stop)
	return s
}

// Open starts a provider outside a test; stop ends it. Its Wait methods are for
// tests only.
func Open() (s *Server, stop func()) {
	s = &Server{changed: make(chan struct{}), gone: make(chan struct{}, 64)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", s.serve(anthropicText, anthropic{}))
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"input_tokens":10}`)
	})
	mux.HandleFunc("POST /v1/responses", s.serve(responsesText, responses{}))
	mux.HandleFunc("POST /v1/chat/completions", s.serve(chatText, chat{}))
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"fake-model","object":"model","created":1,"owned_by":"fake"}]}`)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead || r.URL.Path == "/" {
			return
		}
		http.Error(w, `{"error":{"type":"not_found_error","message":"no such path"}}`, http.StatusNotFound)
	})
	h := httptest.NewServer(mux)
	s.URL = h.URL
	return s, func() {
		h.CloseClientConnections()
		h.Close()
	}
}

// On scripts the requests whose last question contains the text: one step per
// request, the last step repeats. Questions without a script are echoed.
func (s *Server) On(contains string, steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = append(s.rules, &rule{contains: contains, steps: steps})
}

// Requests are the requests so far whose path has the suffix.
func (s *Server) Requests(path string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Request
	for _, r := range s.requests {
		if strings.HasSuffix(r.Path, path) {
			out = append(out, r)
		}
	}
	return out
}

// WaitFor blocks until a request whose raw body contains the text has arrived.
func (s *Server) WaitFor(text string) {
	s.t.Helper()
	deadline := time.After(60 * time.Second)
	for {
		s.mu.Lock()
		ch := s.changed
		for _, r := range s.requests {
			if strings.Contains(r.Raw, text) {
				s.mu.Unlock()
				return
			}
		}
		s.mu.Unlock()
		select {
		case <-ch:
		case <-deadline:
			s.t.Fatalf("no model request with %q arrived", text)
		}
	}
}

// WaitGone blocks until a client has left a gated stream.
func (s *Server) WaitGone() {
	s.t.Helper()
	select {
	case <-s.gone:
	case <-time.After(60 * time.Second):
		s.t.Fatal("no client left its stream")
	}
}

// dialect writes one provider's stream.
type dialect interface {
	status(w http.ResponseWriter, status int)
	stream(e *emitter, model string, st Step)
}

func (s *Server) serve(lastText func(map[string]any) string, d dialect) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var body map[string]any
		if json.Unmarshal(raw, &body) != nil {
			http.Error(w, `{"error":{"type":"invalid_request_error","message":"no JSON"}}`, http.StatusBadRequest)
			return
		}
		question := lastText(body)
		step := s.pick(question)
		s.mu.Lock()
		s.requests = append(s.requests, Request{r.URL.Path, r.Header.Clone(), body, string(raw)})
		close(s.changed)
		s.changed = make(chan struct{})
		answer := len(s.requests)
		s.mu.Unlock()
		if step.Status != 0 {
			if step.After > 0 {
				w.Header().Set("Retry-After", itoa(int(step.After.Seconds())))
			}
			w.Header().Set("Content-Type", "application/json")
			d.status(w, step.Status)
			return
		}
		model, _ := body["model"].(string)
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-cache")
		d.stream(&emitter{w: w, ctx: r.Context(), server: s, answer: answer}, model, step)
	}
}

func (s *Server) pick(question string) Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.rules {
		if strings.Contains(question, r.contains) {
			st := r.steps[min(r.next, len(r.steps)-1)]
			r.next++
			return st
		}
	}
	if len(question) > 200 {
		question = question[len(question)-200:]
	}
	return Step{Text: "PONG: " + question}
}
