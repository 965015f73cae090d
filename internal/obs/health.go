package obs

import (
	"context"
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Health answers /healthz (the process is alive) and /readyz (it can serve):
// every check passes, and it is not draining.
type Health struct {
	draining atomic.Bool
	mu       sync.Mutex
	checks   []check
}

type check struct {
	name string
	run  func(context.Context) error
}

// checkTime is what one check may take: less than the 2 s that a probe usually waits.
const checkTime = 1500 * time.Millisecond

// Require adds a condition of readiness. run gets 1.5 s; the checks run at the same time.
func (h *Health) Require(name string, run func(context.Context) error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.checks = append(h.checks, check{name, run})
}

// Drain makes /readyz answer 503 from now on.
func (h *Health) Drain() { h.draining.Store(true) }

// Alive is the handler of /healthz.
func (h *Health) Alive(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]string{"status": "ok"})
}

// Ready is the handler of /readyz: 200, or 503 with the names of failed checks and no details.
func (h *Health) Ready(w http.ResponseWriter, r *http.Request) {
	if failed := h.Failed(r.Context()); len(failed) > 0 {
		answer(w, http.StatusServiceUnavailable, map[string]any{"status": "not_ready", "failed": failed})
		return
	}
	answer(w, http.StatusOK, map[string]string{"status": "ready"})
}

// Failed names the checks that fail now.
func (h *Health) Failed(ctx context.Context) []string {
	if h.draining.Load() {
		return []string{"draining"}
	}
	h.mu.Lock()
	checks := h.checks
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	errs := make([]error, len(checks))
	var all sync.WaitGroup
	for n, c := range checks {
		all.Go(func() { errs[n] = c.run(ctx) })
	}
	all.Wait()
	var failed []string
	for n, c := range checks {
		if errs[n] != nil {
			failed = append(failed, c.name)
		}
	}
	return failed
}

func answer(w http.ResponseWriter, status int, body any) {
	b, err := json.Marshal(body)
	if err != nil {
		status, b = http.StatusInternalServerError, []byte(`{"status":"error"}`)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b)
}
