package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// ErrKeyRefused means that the server knows this agent id and key no longer
// (401 at the exchange): trying again with the same key is useless.
var ErrKeyRefused = errors.New("AUTH_FAILED: the server refused the agent id and key")

// tokenSource exchanges the agent key for a token and keeps it for 11 to 13
// minutes (contract 1.2: tokens live 15). Concurrent callers share one
// exchange.
type tokenSource struct {
	base, agentID, key string
	http               *http.Client
	now                func() time.Time

	mu      sync.Mutex
	token   string
	renewAt time.Time
}

// get returns a valid token, exchanging when the cached one is old. It blocks
// for at most one exchange.
func (s *tokenSource) get(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != "" && s.now().Before(s.renewAt) {
		return s.token, nil
	}
	token, err := s.exchange(ctx)
	if err != nil {
		return "", err
	}
	s.token = token
	s.renewAt = s.now().Add(12*time.Minute - time.Minute + rand.N(2*time.Minute))
	return token, nil
}

// drop forgets a token that the server refused. A token that was renewed in
// the meantime stays.
func (s *tokenSource) drop(refused string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token == refused {
		s.token = ""
	}
}

func (s *tokenSource) exchange(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	body, err := json.Marshal(map[string]string{"agent_id": s.agentID, "api_key": s.key})
	if err != nil {
		return "", fmt.Errorf("encode token exchange: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+"/api/auth/agent-token", bytes.NewReader(body))
	if err != nil {
		return "", fmt.Errorf("exchange agent key: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := s.http.Do(req)
	if err != nil {
		return "", fmt.Errorf("exchange agent key: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err != nil {
		return "", fmt.Errorf("exchange agent key: %w", err)
	}
	if res.StatusCode == http.StatusUnauthorized {
		return "", ErrKeyRefused
	}
	if res.StatusCode != http.StatusOK {
		return "", fmt.Errorf("exchange agent key: %w", statusError(res, raw))
	}
	var out struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(raw, &out); err != nil || out.Token == "" {
		return "", errors.New("exchange agent key: the answer carries no token; is the address an agntchat server?")
	}
	return out.Token, nil
}
