// Package fakeserver is a small agntchat server for the bridge's own tests: it
// keeps the rules that a bridge can feel (claims with generations, leases given
// back at registration, fencing, idempotent completion, stale drafts) and
// nothing else. It is written from the contract, not from our server.
package fakeserver

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
)

// Server is one fake server with one agent.
type Server struct {
	URL, AgentID, Key string

	t    testing.TB
	http *httptest.Server

	mu         sync.Mutex
	token      int
	profile    map[string]any
	executor   string
	instance   string
	rows       map[string]*Row
	order      []string
	conns      map[*conn]struct{}
	faults     []fault
	down       bool
	heartbeats []map[string]any
	registered []map[string]any
	streams    []Frame
	calls      []Call
	secrets    map[string]string
	changed    chan struct{} // closed and replaced on every change
}

// Row is one queued message, or one queued task whose title is Text.
type Row struct {
	Task                                bool
	ID, MessageID, ConversationID, Text string
	Generation                          int64
	State                               string // open, claimed, done
	Outcome                             string
	Body                                map[string]any // of the accepted completion
	Completions                         int            // accepted completions, repeats not counted
	Attempts                            int            // times it was handed out
	Stale                               []map[string]any
	Extra                               map[string]any
	claimedBy                           string
	first                               json.RawMessage
}

// Frame is one stream update with its arrival.
type Frame struct {
	ConversationID, StreamID, Status, Phase, Detail, QueueID string
	Content                                                  *string
	At                                                       time.Time
}

// Call is one tool call or message the bridge made.
type Call struct {
	Path   string
	Header http.Header
	Body   map[string]any
}

type fault struct {
	path   string
	status int
	code   string
	left   int
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	s := &Server{
		AgentID: uuid.NewString(), Key: "ak_test_" + uuid.NewString(), t: t,
		rows: map[string]*Row{}, conns: map[*conn]struct{}{}, secrets: map[string]string{},
		executor: uuid.NewString(), changed: make(chan struct{}),
	}
	s.profile = map[string]any{
		"id": s.AgentID, "displayName": "Nova", "ownerId": uuid.NewString(), "capabilities": []string{},
		"modelConfig": map[string]any{}, "settings": map[string]any{},
		"resolvedTools": []any{
			tool("send_message", "conversation_id", "content"), tool("get_messages", "conversation_id"),
			tool("get_profile"), tool("end_turn", "reason"),
		},
	}
	s.http = httptest.NewServer(s.routes())
	s.URL = s.http.URL
	t.Cleanup(func() {
		s.DropSockets()
		s.http.Close()
	})
	return s
}

func tool(name string, args ...string) map[string]any {
	props := map[string]any{}
	for _, a := range args {
		props[a] = map[string]any{"type": "string"}
	}
	schema := map[string]any{"type": "object", "properties": props}
	if name == "send_message" {
		schema["required"] = []string{"content"}
	}
	return map[string]any{"name": name, "description": "The tool " + name + ".", "inputSchema": schema}
}

// Profile changes the answer of GET /api/me.
func (s *Server) Profile(change func(p map[string]any)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(s.profile)
}

// Secret stores a provider key that the bridge can resolve.
func (s *Server) Secret(provider, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.secrets[provider] = token
}

// Fail makes the next n calls whose path contains the text answer the status.
func (s *Server) Fail(path string, n, status int, code string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, fault{path, status, code, n})
}

// SetDown makes every request end without an answer, and drops the sockets.
func (s *Server) SetDown(down bool) {
	s.mu.Lock()
	s.down = down
	s.mu.Unlock()
	if down {
		s.DropSockets()
	}
}

// Revoke makes the agent's key invalid.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Key = "ak_other"
	s.token++
}

// ExpireTokens makes every token handed out so far invalid.
func (s *Server) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.token++
}

// Post queues a message for the agent and wakes it.
func (s *Server) Post(conversationID, text string, extra ...map[string]any) *Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &Row{ID: uuid.NewString(), MessageID: uuid.NewString(), ConversationID: conversationID, Text: text, State: "open", Extra: map[string]any{}}
	for _, e := range extra {
		for k, v := range e {
			r.Extra[k] = v
		}
	}
	s.rows[r.ID] = r
	s.order = append(s.order, r.ID)
	s.bump()
	s.offer()
	return r
}

// PostTask queues a task for the agent and wakes it.
func (s *Server) PostTask(conversationID, title string) *Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &Row{Task: true, ID: uuid.NewString(), MessageID: uuid.NewString(), ConversationID: conversationID, Text: title, State: "open"}
	s.rows[r.ID] = r
	s.order = append(s.order, r.ID)
	s.bump()
	s.offer()
	return r
}

// Stale makes the next draft for the row be refused with these messages.
func (s *Server) Stale(r *Row, texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range texts {
		r.Stale = append(r.Stale, map[string]any{
			"id": uuid.NewString(), "content": x, "senderId": uuid.NewString(), "senderName": "Ann", "senderType": "human",
			"contentType": "text", "insertedAt": time.Now().UTC().Format(time.RFC3339Nano),
		})
	}
}

// Requeue takes a claim away, as an expired lease would, and offers it again
// when offer is true.
func (s *Server) Requeue(r *Row, offer bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.State == "claimed" {
		r.State, r.claimedBy = "open", ""
		r.Generation++
	}
	if offer {
		s.offer()
	}
}

// Get returns a copy of a row.
func (s *Server) Get(r *Row) Row {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *r
}

// Streams are the frames of one conversation in order of arrival.
func (s *Server) Streams(conversationID string) []Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Frame
	for _, f := range s.streams {
		if f.ConversationID == conversationID {
			out = append(out, f)
		}
	}
	return out
}

// Calls are the tool and message calls whose path ends with the suffix.
func (s *Server) Calls(path string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Call
	for _, c := range s.calls {
		if c.Path == path {
			out = append(out, c)
		}
	}
	return out
}

// Heartbeats are the bodies received so far.
func (s *Server) Heartbeats() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.heartbeats)
}

// Registrations are the bodies received so far.
func (s *Server) Registrations() []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.registered)
}

// bump tells waiters that something changed; the caller holds mu.
func (s *Server) bump() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Wait blocks until ok is true or the test's patience ends. ok is called with
// no lock held, after every change.
func (s *Server) Wait(what string, ok func() bool) {
	s.t.Helper()
	deadline := time.After(60 * time.Second)
	for {
		s.mu.Lock()
		ch := s.changed
		s.mu.Unlock()
		if ok() {
			return
		}
		select {
		case <-ch:
		case <-deadline:
			s.t.Fatalf("gave up waiting: %s", what)
		}
	}
}

// WaitDone waits until the row is settled and returns it.
func (s *Server) WaitDone(r *Row) Row {
	s.t.Helper()
	s.Wait("message "+r.Text+" to be settled", func() bool { return s.Get(r).State == "done" })
	return s.Get(r)
}

// Reply is the text of the accepted answer, or "".
func (r Row) Reply() string {
	m, _ := r.Body["reply"].(map[string]any)
	v, _ := m["content"].(string)
	return v
}

// ErrorCode is the code of a failed turn, or "".
func (r Row) ErrorCode() string {
	m, _ := r.Body["error"].(map[string]any)
	v, _ := m["code"].(string)
	return v
}

// ClearFaults ends every fault set by Fail.
func (s *Server) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// Offer hands out what is open, as after a lease expiry or a wake.
func (s *Server) Offer() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offer()
}

// Poke lets waiters look again, for conditions that are not the server's.
func (s *Server) Poke() {
	time.AfterFunc(5*time.Millisecond, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bump()
	})
}
