package realtime_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agntchat/agntchat/internal/realtime"
)

// TestMoreIsWaitedFor: frames that were announced travel in one write with the one
// before them; one that never comes holds nothing up for long; and a small topic,
// which has no goroutine, waits for nothing.
func TestMoreIsWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := realtime.NewBus(realtime.Config{InlineBelow: 1})
		all := &ear{t: t}
		b.Subscribe("t", all, realtime.Tags{})
		for n, event := range names(5) {
			broadcast(t, b, realtime.Message{Event: event, More: n < 4})
			time.Sleep(time.Millisecond)
		}
		b.Wait()
		if got := all.take(); !slices.Equal(got, names(5)) || all.largest != 5 {
			t.Fatalf("heard %v, at most %d in one piece", got, all.largest)
		}

		began := time.Now()
		broadcast(t, b, realtime.Message{Event: "alone", More: true})
		b.Wait()
		if got, took := all.take(), time.Since(began); !slices.Equal(got, []string{"alone"}) || took > 11*time.Millisecond {
			t.Fatalf("heard %v after %v", got, took)
		}

		inline := realtime.NewBus(realtime.Config{})
		inline.Subscribe("t", all, realtime.Tags{})
		broadcast(t, inline, realtime.Message{Event: "now", More: true})
		if got := all.take(); !slices.Equal(got, []string{"now"}) {
			t.Fatalf("a small topic: %v", got)
		}
	})
}
