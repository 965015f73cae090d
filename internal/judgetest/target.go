package judgetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

// Target is a running server with open sign-up.
type Target struct {
	BaseURL string // "http://127.0.0.1:4000", no trailing slash

	// Patience is the longest wait for one live effect; 0 means 20 s.
	Patience time.Duration

	// Restart, when set, stops the server in whatever way the caller likes and
	// returns when it answers again. The suite then also judges that everything
	// comes back by itself.
	Restart func(ctx context.Context) error
}

func (g Target) patience() time.Duration {
	if g.Patience > 0 {
		return g.Patience
	}
	return 20 * time.Second
}

func (g Target) base() string { return strings.TrimSuffix(g.BaseURL, "/") }

// within runs fn under the target's patience.
func (g Target) within(t testing.TB, what string, fn func(ctx context.Context) error) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), g.patience())
	defer stop()
	if err := fn(ctx); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// goodPassword passes every rule of desktop 6.
const goodPassword = "Qv7-harbour-Lamp"

func freshEmail() string {
	return fmt.Sprintf("judge-%s@example.com", strings.ReplaceAll(uuid.NewString(), "-", "")[:16])
}
