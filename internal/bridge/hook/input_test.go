package hook_test

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/agntchat/agntchat/internal/bridge/hook"
)

// A CLI that keeps its end of the pipe open does not hold its person up.
func TestB1_HooksDoNotWaitForTheirInput(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(context.Context, hook.Options) error{"claude": hook.Claude, "codex": hook.Codex} {
		in, held := io.Pipe() // nothing is ever written, and it is not closed
		defer func() { _ = held.Close() }()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := run(ctx, hook.Options{Dir: t.TempDir(), In: in, Out: io.Discard}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
