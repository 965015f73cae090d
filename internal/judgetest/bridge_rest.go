package judgetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// tokenSource caches one exchanged token: renewed at 12 minutes plus a jitter
// of a minute either way (bridge 1.2).
type tokenSource struct {
	b      *Bridge
	mu     sync.Mutex
	token  string
	at     time.Time
	jitter time.Duration
}

func (s *tokenSource) get(ctx context.Context, force bool) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !force && s.token != "" && time.Since(s.at) < 12*time.Minute+s.jitter {
		return s.token, nil
	}
	token, err := exchangeKey(ctx, s.b.rest, s.b.led, s.b.agentID, s.b.apiKey)
	if err != nil {
		return "", err
	}
	s.token, s.at = token, time.Now()
	s.jitter = time.Duration(rand.Int64N(int64(2*time.Minute))) - time.Minute
	return token, nil
}

// exchangeKey is POST /api/auth/agent-token: 200 exactly, only "token" is read,
// a network time-out is retried once (bridge 1.2).
func exchangeKey(ctx context.Context, rest transport, led *Ledger, agentID, key string) (string, error) {
	c := call{method: "POST", path: "/api/auth/agent-token", body: map[string]any{"agent_id": agentID, "api_key": key}}
	a, err := rest.send(ctx, "", c)
	var ne net.Error
	if errors.As(err, &ne) && ne.Timeout() && ctx.Err() == nil {
		a, err = rest.send(ctx, "", c)
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("exchange key: %w", err)
	case a.Status == http.StatusUnauthorized:
		return "", errAuthFailed
	case a.Status != http.StatusOK:
		led.Break(rest.who, "bridge 1.2", "agent-token answered %d; only 200 is success", a.Status)
		return "", fmt.Errorf("exchange key: status %d", a.Status)
	case a.Str("token") == "":
		return "", errors.New("exchange key: no token in the answer")
	}
	return a.Str("token"), nil
}

// callREST is the ExecutorClient: bearer token, one renewed exchange and one
// retry on 401, no retry on anything else (bridge 3.1).
func (b *Bridge) callREST(ctx context.Context, c call) (Answer, error) {
	return b.callWith(ctx, b.tokens, c)
}

// callFresh makes the call with a token manager of its own, as each start-up
// step and each toolkit refresh does.
func (b *Bridge) callFresh(ctx context.Context, c call) (Answer, error) {
	return b.callWith(ctx, &tokenSource{b: b}, c)
}

func (b *Bridge) callWith(ctx context.Context, src *tokenSource, c call) (Answer, error) {
	token, err := src.get(ctx, false)
	if err != nil {
		return Answer{}, err
	}
	a, err := b.rest.send(ctx, token, c)
	if err != nil || a.Status != http.StatusUnauthorized {
		return a, err
	}
	if token, err = src.get(ctx, true); err != nil {
		return Answer{}, err
	}
	return b.rest.send(ctx, token, c)
}

func apiError(a Answer) string {
	return fmt.Sprintf("API error %d: %s", a.Status, clip(string(a.Body), 300))
}

// toolVerdict is how the bridge judges a passthrough tool call (bridge 5.5):
// an HTTP error fails; text content wins over "ok"; text that is a JSON object
// with a non-null "error" fails.
func toolVerdict(a Answer) (text string, ok bool) {
	if a.Status >= 400 {
		return apiError(a), false
	}
	blocks, _ := a.Map()["content"].([]any)
	var parts []string
	for _, block := range blocks {
		m, _ := block.(map[string]any)
		if s, is := m["text"].(string); is && m["type"] == "text" {
			parts = append(parts, s)
		}
	}
	text = strings.Join(parts, "\n")
	if text == "" {
		if a.Map()["error"] != nil || a.Map()["ok"] == false {
			return brief(a.Map()["error"]), false
		}
		return "", true
	}
	var probe map[string]any
	if json.Unmarshal([]byte(text), &probe) == nil && probe["error"] != nil {
		return text, false
	}
	return text, true
}

// rpcVerdict is how the bridge judges an answer of POST /api/mcp (bridge 2.8.1):
// an HTTP error fails, result.isError fails when it is boolean true, and a
// JSON-RPC error member is not looked at. text is the first text block.
func rpcVerdict(a Answer) (text string, ok bool) {
	if a.Status >= 400 {
		return apiError(a), false
	}
	result, _ := a.Map()["result"].(map[string]any)
	blocks, _ := result["content"].([]any)
	for _, block := range blocks {
		m, _ := block.(map[string]any)
		if s, is := m["text"].(string); is && m["type"] == "text" {
			text = s
			break
		}
	}
	return text, result["isError"] != true
}

// versionAtMost compares dotted versions number by number.
func versionAtMost(v, limit string) bool {
	a, b := strings.Split(v, "."), strings.Split(limit, ".")
	for i := range max(len(a), len(b)) {
		x, y := part(a, i), part(b, i)
		if x != y {
			return x < y
		}
	}
	return true
}

func part(list []string, i int) int {
	if i >= len(list) {
		return 0
	}
	n, err := strconv.Atoi(list[i])
	if err != nil {
		return 0
	}
	return n
}

// refresher keeps the toolkit refresh to once in a while (bridge 4.4).
type refresher struct {
	mu    sync.Mutex
	every time.Duration
	last  time.Time
}

func (r *refresher) due() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.last) < r.every {
		return false
	}
	r.last = time.Now()
	return true
}

func str(m map[string]any, key string) string { s, _ := m[key].(string); return s }

func stringsOf(v any) []string {
	list, _ := v.([]any)
	out := make([]string, 0, len(list))
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}
