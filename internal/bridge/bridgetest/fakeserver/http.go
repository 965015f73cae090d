package fakeserver

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"
)

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/auth/agent-token", s.agentToken)
	mux.HandleFunc("POST /api/invites/{code}/claim", s.claimInvite)
	mux.HandleFunc("GET /socket/websocket", s.socket)
	auth := func(pattern string, h func(w http.ResponseWriter, r *http.Request, body map[string]any)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if !s.authorized(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) {
				fail(w, 401, "unauthenticated")
				return
			}
			var body map[string]any
			raw, _ := io.ReadAll(r.Body)
			_ = json.Unmarshal(raw, &body)
			s.mu.Lock()
			defer s.mu.Unlock()
			defer s.bump()
			h(w, r, body)
		})
	}
	auth("GET /api/me", func(w http.ResponseWriter, _ *http.Request, _ map[string]any) { answer(w, 200, s.profile) })
	auth("POST /api/gateway/executors", s.register)
	auth("POST /api/gateway/executors/{id}/heartbeat", s.heartbeat)
	auth("DELETE /api/gateway/executors/{id}", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		if r.URL.Query().Get("instance_id") != s.instance {
			answer(w, 200, map[string]any{"superseded": true})
			return
		}
		s.giveBack()
		answer(w, 200, map[string]any{})
	})
	auth("POST /api/gateway/messages/{id}/complete", s.complete)
	auth("POST /api/gateway/tasks/{id}/complete", s.complete)
	for _, call := range []string{"accept", "progress"} {
		auth("POST /api/gateway/tasks/{id}/"+call, func(w http.ResponseWriter, r *http.Request, body map[string]any) {
			if row := s.owned(w, r.PathValue("id"), body); row != nil {
				s.calls = append(s.calls, Call{call, r.Header.Clone(), body})
				answer(w, 200, map[string]any{})
			}
		})
	}
	auth("POST /api/gateway/messages/{id}/release", func(w http.ResponseWriter, r *http.Request, body map[string]any) {
		row := s.owned(w, r.PathValue("id"), body)
		if row == nil {
			return
		}
		row.State, row.claimedBy = "open", ""
		answer(w, 200, map[string]any{})
		s.offer()
	})
	auth("POST /api/conversations/{id}/stream", s.stream)
	auth("POST /api/conversations/{id}/messages", func(w http.ResponseWriter, r *http.Request, body map[string]any) {
		s.calls = append(s.calls, Call{r.URL.Path, r.Header.Clone(), body})
		answer(w, 201, map[string]any{"id": uuid.NewString(), "content": body["content"]})
	})
	auth("GET /api/conversations/{id}/messages", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		s.calls = append(s.calls, Call{r.URL.Path, r.Header.Clone(), nil})
		answer(w, 200, map[string]any{"messages": []any{}})
	})
	auth("POST /api/mcp/call", func(w http.ResponseWriter, r *http.Request, body map[string]any) {
		s.calls = append(s.calls, Call{r.URL.Path, r.Header.Clone(), body})
		answer(w, 200, map[string]any{"ok": true, "content": []any{map[string]any{"type": "text", "text": fmt.Sprintf("did %v", body["tool_name"])}}})
	})
	auth("POST /api/agents/me/local-tool-calls", func(w http.ResponseWriter, r *http.Request, body map[string]any) {
		s.calls = append(s.calls, Call{r.URL.Path, r.Header.Clone(), body})
		w.WriteHeader(http.StatusNoContent)
	})
	auth("PATCH /api/agents/me/model-config", func(w http.ResponseWriter, r *http.Request, body map[string]any) {
		s.calls = append(s.calls, Call{r.URL.Path, r.Header.Clone(), body})
		answer(w, 200, map[string]any{})
	})
	auth("GET /api/integrations/{provider}/resolve", func(w http.ResponseWriter, r *http.Request, _ map[string]any) {
		if v := s.secrets[r.PathValue("provider")]; v != "" {
			answer(w, 200, map[string]any{"token": v})
			return
		}
		fail(w, 404, "not_found")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		down, status, code := s.down, 0, ""
		for i := range s.faults {
			f := &s.faults[i]
			if f.left > 0 && strings.Contains(r.URL.Path, f.path) {
				f.left--
				status, code = f.status, f.code
				break
			}
		}
		s.mu.Unlock()
		if down {
			panic(http.ErrAbortHandler)
		}
		if status != 0 {
			fail(w, status, code)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func fail(w http.ResponseWriter, status int, code string) {
	answer(w, status, map[string]any{"error": map[string]any{"code": code, "message": "fake: " + code}})
}

func (s *Server) agentToken(w http.ResponseWriter, r *http.Request) {
	var in struct {
		AgentID string `json:"agent_id"`
		Key     string `json:"api_key"`
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.AgentID != s.AgentID || in.Key != s.Key {
		fail(w, 401, "invalid_credentials")
		return
	}
	answer(w, 200, map[string]any{"token": s.bearer()})
}

func (s *Server) bearer() string { return fmt.Sprintf("token-%s-%d", s.AgentID, s.token) }

func (s *Server) authorized(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return token == s.bearer()
}

func (s *Server) claimInvite(w http.ResponseWriter, r *http.Request) {
	if r.PathValue("code") != "inv_good" {
		fail(w, 404, "not_found")
		return
	}
	answer(w, 201, map[string]any{
		"agentId": s.AgentID, "apiKey": s.Key, "agent": map[string]any{"displayName": "Nova"}, "gatewayUrl": s.URL + "/api/gateway",
	})
}

func (s *Server) register(w http.ResponseWriter, _ *http.Request, body map[string]any) {
	instance, _ := body["instance_id"].(string)
	if instance != s.instance {
		s.giveBack()
	}
	s.instance = instance
	s.registered = append(s.registered, body)
	answer(w, 200, map[string]any{"id": s.executor})
}

// giveBack returns every claim to the queue; the caller holds mu.
func (s *Server) giveBack() {
	for _, row := range s.rows {
		if row.State == "claimed" {
			row.State, row.claimedBy = "open", ""
			row.Generation++
		}
	}
}

func (s *Server) heartbeat(w http.ResponseWriter, r *http.Request, body map[string]any) {
	s.heartbeats = append(s.heartbeats, body)
	if r.PathValue("id") != s.executor {
		fail(w, 404, "not_found")
		return
	}
	lost := []string{}
	claims, _ := body["claims"].([]any)
	for _, c := range claims {
		m, _ := c.(map[string]any)
		id, _ := m["id"].(string)
		gen, _ := m["generation"].(float64)
		if row := s.rows[id]; row == nil || row.State != "claimed" || row.Generation != int64(gen) {
			lost = append(lost, id)
		}
	}
	answer(w, 200, map[string]any{"commands": []any{}, "lost": lost})
}

// owned checks executor and generation of a write; the caller holds mu.
func (s *Server) owned(w http.ResponseWriter, id string, body map[string]any) *Row {
	row := s.rows[id]
	gen, _ := body["generation"].(float64)
	if row == nil || row.State != "claimed" || row.Generation != int64(gen) || body["executor_id"] != s.executor {
		fail(w, 403, "executor_not_owned")
		return nil
	}
	return row
}

func (s *Server) complete(w http.ResponseWriter, r *http.Request, body map[string]any) {
	id := r.PathValue("id")
	if row := s.rows[id]; row != nil && row.State == "done" && body["generation"] == row.Body["generation"] {
		answer(w, 200, row.first)
		return
	}
	row := s.owned(w, id, body)
	if row == nil {
		return
	}
	if len(row.Stale) > 0 && body["reply"] != nil {
		newer := row.Stale
		row.Stale = nil
		answer(w, 409, map[string]any{"stale": true, "newMessages": newer})
		return
	}
	row.State, row.Body = "done", body
	row.Outcome, _ = body["outcome"].(string)
	row.Completions++
	row.first, _ = json.Marshal(map[string]any{"status": "completed", "outcome": row.Outcome})
	answer(w, 200, row.first)
	s.offer()
}

func (s *Server) stream(w http.ResponseWriter, r *http.Request, body map[string]any) {
	f := Frame{ConversationID: r.PathValue("id"), At: time.Now()}
	f.StreamID, _ = body["stream_id"].(string)
	f.Status, _ = body["status"].(string)
	f.Phase, _ = body["phase"].(string)
	f.Detail, _ = body["phase_detail"].(string)
	f.QueueID, _ = body["queue_id"].(string)
	if v, ok := body["content"].(string); ok {
		f.Content = &v
	}
	if f.QueueID != "" {
		gen, _ := body["generation"].(float64)
		if row := s.rows[f.QueueID]; row == nil || row.State != "claimed" || row.Generation != int64(gen) {
			fail(w, 403, "executor_not_owned")
			return
		}
	}
	s.streams = append(s.streams, f)
	answer(w, 200, map[string]any{"status": "ok"})
}
