package main

import (
	"fmt"
	"sync/atomic"
)

// who is an account or an agent with a token.
type who struct {
	ID, Token string
	Key       string // of an agent
	Executor  string
}

var accounts atomic.Int64

func (s *server) signUp(name string) (who, error) {
	var out struct {
		Token       string
		Participant struct{ ID string }
	}
	err := s.call("POST", "/api/auth/signup", "", map[string]any{
		"email": fmt.Sprintf("bench-%d@example.com", accounts.Add(1)), "password": "Correct-horse-9-battery", "firstName": name, "lastName": "Bench",
		"acceptedTerms": true, "birthDate": "1990-04-12", "marketingOptIn": false, "analyticsOptIn": false,
	}, &out)
	return who{ID: out.Participant.ID, Token: out.Token}, err
}

// agent makes an agent with a registered executor, as a stock bridge registers.
func (s *server) agent(owner who, name string, slots int) (who, error) {
	var made struct{ ID, APIKey string }
	if err := s.call("POST", "/api/agents", owner.Token, map[string]any{"displayName": name, "agentType": "worker"}, &made); err != nil {
		return who{}, err
	}
	var token struct{ Token string }
	if err := s.call("POST", "/api/auth/agent-token", "", map[string]any{"agent_id": made.ID, "api_key": made.APIKey}, &token); err != nil {
		return who{}, err
	}
	var ex struct{ ID string }
	err := s.call("POST", "/api/gateway/executors", token.Token, map[string]any{
		"executor_key": "agent-bridge", "display_name": name, "capabilities": []string{}, "connection_type": "long_poll", "max_concurrent": slots,
		"instance_id": "bench", "backend_health": map[string]any{"status": "ok"}, "metadata": map[string]any{"device_name": "bench", "bridge_version": "2.11.24"},
	}, &ex)
	return who{ID: made.ID, Token: token.Token, Key: made.APIKey, Executor: ex.ID}, err
}

func (s *server) room(owner who, kind string, members ...who) (string, error) {
	ids := make([]string, len(members))
	for i, m := range members {
		ids[i] = m.ID
	}
	var out struct{ ID string }
	err := s.call("POST", "/api/conversations", owner.Token, map[string]any{"type": kind, "title": "bench", "memberIds": ids}, &out)
	return out.ID, err
}

func socketPath(w who) string { return "/socket/websocket?vsn=2.0.0&token=" + w.Token }
