package obs

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Checks run at the same time: one that waits for another would else fail both, and
// a probe would give up before it is told which.
func TestM2_ReadinessChecksRunTogether(t *testing.T) {
	t.Parallel()
	h := &Health{}
	meet := make(chan struct{})
	h.Require("first", func(ctx context.Context) error {
		select {
		case meet <- struct{}{}:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	h.Require("second", func(ctx context.Context) error {
		select {
		case <-meet:
			return errors.New("secret words")
		case <-ctx.Done():
			return nil
		}
	})
	w := httptest.NewRecorder()
	h.Ready(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil))
	if body := w.Body.String(); w.Code != http.StatusServiceUnavailable || !strings.Contains(body, `["second"]`) || strings.Contains(body, "secret") {
		t.Fatalf("%d %s", w.Code, body)
	}
}
