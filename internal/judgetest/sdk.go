package judgetest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// SDKOptions shape one SDK client (bridge 2.12).
type SDKOptions struct {
	Version   string        // X-Bridge-Version on every call; "2.11.24"
	Heartbeat time.Duration // Phoenix heartbeat, 30 s
	Ledger    *Ledger
}

// SDK is the client of agentchat/client.py: user and conversation topics, and
// messages pushed over the socket in snake_case.
type SDK struct {
	led     *Ledger
	opt     SDKOptions
	rest    transport
	agentID string
	apiKey  string
	token   string
	sock    *phxSocket
	joins   chan string

	watched
	trusted map[string]bool
	seen    map[string]time.Time // message id → first seen, 30 s
	rooms   map[string]bool      // asked to join
	ready   map[string]bool      // join answered ok
	inbox   []map[string]any
	events  []string
}

// NewSDK prepares an SDK client; it ends with t.
func NewSDK(t testing.TB, baseURL, agentID, apiKey string, opts SDKOptions) *SDK {
	if opts.Version == "" {
		opts.Version = "2.11.24"
	}
	if opts.Heartbeat == 0 {
		opts.Heartbeat = 30 * time.Second
	}
	led := opts.Ledger
	if led == nil {
		led = &Ledger{}
		t.Cleanup(func() { led.Report(t) })
	}
	s := &SDK{
		led: led, opt: opts, agentID: agentID, apiKey: apiKey,
		rest:  newTransport(strings.TrimSuffix(baseURL, "/"), led, "sdk", "bridge 3.1", 15*time.Second),
		joins: make(chan string, 256), trusted: map[string]bool{}, seen: map[string]time.Time{}, rooms: map[string]bool{}, ready: map[string]bool{},
	}
	t.Cleanup(s.Close)
	return s
}

// Connect exchanges the key, joins user: and up to 100 listed conversations.
func (s *SDK) Connect(ctx context.Context) error {
	token, err := exchangeKey(ctx, s.rest, s.led, s.agentID, s.apiKey)
	if err != nil {
		return err
	}
	s.token = token
	sock, err := dialSocket(ctx, s.rest.base, token, s.led, socketOptions{who: "sdk", heartbeat: s.opt.Heartbeat, answerIn: 10 * time.Second}, s.event)
	if err != nil {
		return err
	}
	s.sock = sock
	go s.joinLoop(context.WithoutCancel(ctx))
	if _, err := sock.join(ctx, "user:"+s.agentID, map[string]any{}); err != nil {
		return err
	}
	a, err := s.call(ctx, call{method: "GET", path: "/api/conversations?limit=100"})
	if err != nil {
		return err
	}
	list, ok := a.Map()["conversations"].([]any)
	if !a.OK() || !ok {
		s.led.Break("sdk", "bridge 3.3", "GET /api/conversations answered %d without conversations[]", a.Status)
	}
	for _, e := range list {
		m, _ := e.(map[string]any)
		if str(m, "id") == "" {
			s.led.Break("sdk", "bridge 4.2", "listed conversation without id")
			continue
		}
		s.joinRoom(ctx, str(m, "id"))
	}
	if a, err := s.call(ctx, call{method: "GET", path: "/api/agents/me/trust"}); err == nil && a.OK() {
		trusted, _ := a.Map()["trusted"].([]any)
		s.change(func() {
			for _, e := range trusted {
				m, _ := e.(map[string]any)
				s.trusted[str(m, "id")] = true
			}
		})
	}
	return nil
}

func (s *SDK) call(ctx context.Context, c call) (Answer, error) {
	if c.header == nil {
		c.header = map[string]string{}
	}
	c.header["X-Bridge-Version"] = s.opt.Version
	a, err := s.rest.send(ctx, s.token, c)
	if err != nil || a.Status != 401 {
		return a, err
	}
	if s.token, err = exchangeKey(ctx, s.rest, s.led, s.agentID, s.apiKey); err != nil {
		return a, err
	}
	return s.rest.send(ctx, s.token, c)
}

// joinLoop joins rooms heard of by events, outside the reader.
func (s *SDK) joinLoop(ctx context.Context) {
	for {
		select {
		case id := <-s.joins:
			s.joinRoom(ctx, id)
		case <-s.sock.done:
			return
		}
	}
}

func (s *SDK) joinRoom(ctx context.Context, id string) {
	known := false
	s.change(func() { known = s.rooms[id]; s.rooms[id] = true })
	if known || id == "" {
		return
	}
	if _, err := s.sock.join(ctx, "conversation:"+id, map[string]any{}); err != nil {
		s.change(func() { delete(s.rooms, id) })
		if errors.As(err, new(errReply)) {
			s.led.Break("sdk", "bridge 2.4", "join of an own conversation refused: %v", err)
		}
		return
	}
	s.change(func() { s.ready[id] = true })
}

func (s *SDK) event(f frame) {
	p := f.object()
	s.change(func() { s.events = append(s.events, f.Event) })
	switch f.Event {
	case "new_message":
		if strings.HasPrefix(f.Topic, "conversation:") {
			if str(p, "conversationId") == "" {
				p["conversationId"] = strings.TrimPrefix(f.Topic, "conversation:")
			}
			s.message(p)
		}
	case "conversation_updated":
		s.led.check("sdk", "bridge 2.12", "conversation_updated", "ConversationUpdated", f.Payload)
		s.enqueue(str(p, "conversationId"))
		if m, ok := p["lastMessage"].(map[string]any); ok {
			s.message(m)
		}
	case "new_conversation":
		s.led.check("sdk", "bridge 2.12", "new_conversation", "NewConversation", f.Payload)
		m, _ := p["conversation"].(map[string]any)
		s.enqueue(str(m, "id"))
	case "gateway_message", "gateway_task":
		s.led.Break("sdk", "decision 22", "%s reached a user topic joined without an executor_id", f.Event)
	}
}

func (s *SDK) enqueue(id string) {
	select {
	case s.joins <- id:
	default:
	}
}

// message drops duplicates for 30 s, own messages, and untrusted agents.
func (s *SDK) message(m map[string]any) {
	id := str(m, "id")
	if id == "" {
		s.led.Break("sdk", "bridge 4.1", "message without id")
		return
	}
	sender := str(m, "senderId")
	who, _ := m["sender"].(map[string]any)
	s.change(func() {
		drop := time.Since(s.seen[id]) < 30*time.Second || sender == s.agentID ||
			str(who, "type") == "agent" && !s.trusted[sender]
		s.seen[id] = time.Now()
		if !drop {
			s.inbox = append(s.inbox, m)
		}
	})
}

// Send pushes a message in snake_case; the reply's status is not looked at by
// the real client, but an error reply is returned here.
func (s *SDK) Send(ctx context.Context, conversationID, text string) error {
	_, err := s.sock.push(ctx, "conversation:"+conversationID, "new_message",
		map[string]any{"content": text, "content_type": "text", "metadata": map[string]any{}})
	return err
}

// WaitRoom blocks until the client has joined the conversation.
func (s *SDK) WaitRoom(ctx context.Context, id string) error {
	return s.until(ctx, "sdk join", func() bool { return s.ready[id] })
}

// WaitMessage blocks until a message whose text contains sub was handled.
func (s *SDK) WaitMessage(ctx context.Context, sub string) (map[string]any, error) {
	var hit map[string]any
	err := s.until(ctx, "sdk message", func() bool {
		for _, m := range s.inbox {
			if strings.Contains(str(m, "content"), sub) {
				hit = m
				return true
			}
		}
		return false
	})
	return hit, err
}

// Close ends the connection.
func (s *SDK) Close() {
	if s.sock != nil {
		s.sock.kill()
	}
	s.rest.close()
}
