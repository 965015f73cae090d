package fakeserver

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

type conn struct {
	ws     *websocket.Conn
	out    chan []byte
	joined bool
	caught bool // has asked for what waits
}

func (s *Server) socket(w http.ResponseWriter, r *http.Request) {
	if !s.authorized(r.URL.Query().Get("token")) {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	ws, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	c := &conn{ws: ws, out: make(chan []byte, 4096)}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.mu.Lock()
	s.conns[c] = struct{}{}
	s.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case raw := <-c.out:
				if ws.Write(ctx, websocket.MessageText, raw) != nil {
					return
				}
			}
		}
	}()
	for {
		_, raw, err := ws.Read(ctx)
		if err != nil {
			break
		}
		s.frame(c, raw)
	}
	s.mu.Lock()
	delete(s.conns, c)
	s.bump()
	s.mu.Unlock()
	cancel()
	<-done
	_ = ws.CloseNow()
}

func (s *Server) frame(c *conn, raw []byte) {
	var f [5]any
	if json.Unmarshal(raw, &f) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	status, response := "ok", any(map[string]any{})
	switch f[3] {
	case "phx_join":
		p, _ := f[4].(map[string]any)
		if f[2] != "user:"+s.AgentID || p["executor_id"] != s.executor {
			status, response = "error", map[string]any{"reason": "unauthorized"}
		} else {
			c.joined = true
		}
	case "catchup":
		c.caught = true
		defer s.offer()
	}
	c.send(f[0], f[1], f[2], "phx_reply", map[string]any{"status": status, "response": response})
	s.bump()
}

func (c *conn) send(parts ...any) {
	raw, err := json.Marshal(parts)
	if err != nil {
		return
	}
	select {
	case c.out <- raw:
	default:
	}
}

// offer claims open rows for one joined connection and pushes them: one row per
// conversation at a time, in order. The caller holds mu.
func (s *Server) offer() {
	var to *conn
	for c := range s.conns {
		if c.joined {
			to = c
			break
		}
	}
	if to == nil || s.down {
		return
	}
	busy := map[string]bool{}
	for _, row := range s.rows {
		if row.State == "claimed" && !row.Task { // people are never behind a task
			busy[row.ConversationID] = true
		}
	}
	for _, id := range s.order {
		row := s.rows[id]
		if row.State != "open" || (busy[row.ConversationID] && !row.Task) {
			continue
		}
		busy[row.ConversationID] = busy[row.ConversationID] || !row.Task
		row.State, row.claimedBy = "claimed", s.executor
		row.Generation++
		row.Attempts++
		if row.Task {
			to.send(nil, nil, "user:"+s.AgentID, "gateway_task", s.taskPayload(row))
			continue
		}
		to.send(nil, nil, "user:"+s.AgentID, "gateway_message", s.payload(row))
	}
	s.bump()
}

func (s *Server) payload(row *Row) map[string]any {
	p := map[string]any{
		"id": row.ID, "messageId": row.MessageID, "conversationId": row.ConversationID, "content": row.Text, "contentType": "text",
		"senderId": "5e9d5dd0-0000-4000-8000-000000000001", "senderName": "Ann", "senderType": "human", "metadata": map[string]any{},
		"directives": map[string]any{
			"promptDirectives": []string{"You are Nova. ", "Be brief."}, "volatileContext": []string{"Now: " + time.Now().UTC().Format(time.RFC3339)},
			"behavioralConfig": map[string]any{}, "humanExpectsReply": true,
		},
		"recentMessages": []any{}, "latestSeenMessageId": row.MessageID, "generation": row.Generation, "merged": []any{}, "leaseSeconds": 600,
	}
	for k, v := range row.Extra {
		p[k] = v
	}
	return p
}

func (s *Server) taskPayload(row *Row) map[string]any {
	return map[string]any{
		"id": row.ID, "taskId": row.MessageID, "metadata": map[string]any{"reason": "assigned"},
		"task":           map[string]any{"title": row.Text, "description": "All of it.", "conversationId": row.ConversationID, "metadata": map[string]any{}},
		"directives":     s.payload(row)["directives"],
		"recentMessages": []any{}, "generation": row.Generation, "leaseSeconds": 600,
	}
}

// Push sends any event to every joined connection.
func (s *Server) Push(event string, payload any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.joined {
			c.send(nil, nil, "user:"+s.AgentID, event, payload)
		}
	}
}

// Online says whether a connection has joined and caught up.
func (s *Server) Online() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if c.caught {
			return true
		}
	}
	return false
}

// DropSockets cuts every connection without a goodbye.
func (s *Server) DropSockets() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.ws.CloseNow()
		delete(s.conns, c)
	}
}
