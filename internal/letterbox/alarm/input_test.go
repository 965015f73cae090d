package alarm_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/letterbox/alarm"
	"github.com/agntchat/agntchat/internal/letterbox/spool"
)

// A host that keeps its end of the pipe open does not hold its person up: the time of a hook
// is over also while it reads.
func TestL4_HookDoesNotWaitForItsInput(t *testing.T) {
	t.Parallel()
	for _, moment := range []alarm.Moment{alarm.Stop, alarm.Waiting} {
		in, held := io.Pipe() // nothing is ever written, and it is not closed
		defer func() { _ = held.Close() }()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		o := alarm.HookOptions{Host: "claude", Moment: moment, Identity: t.TempDir(), Registry: spool.OpenRegistry(t.TempDir()), In: in, Out: io.Discard, Now: time.Now}
		run := alarm.Hook
		if moment == alarm.Waiting {
			run = func(ctx context.Context, o alarm.HookOptions) error {
				return alarm.Await(ctx, o, func() bool { return true })
			}
		}
		if err := run(ctx, o); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", moment, err)
		}
	}
}
