package realtime_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/realtime"
)

// TestBroadcastEach: several messages reach those they are meant for in order and in
// few pieces, on small topics and on large ones; one that is too large keeps all back.
func TestBroadcastEach(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]realtime.Config{"inline": {}, "fan-out": {InlineBelow: 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := realtime.NewBus(cfg)
			all, some := &ear{t: t}, &ear{t: t}
			b.Subscribe("t", all, realtime.Tags{Conn: "a"})
			b.Subscribe("t", some, realtime.Tags{Conn: "b"})
			var messages []realtime.Message
			var want, wantSome []string
			for n := range 120 {
				m := realtime.Message{Topic: "ignored", Event: fmt.Sprint("e", n), Payload: strings.Repeat("x", 1000)}
				if n%3 == 0 {
					m.ExceptConn = "b"
				} else {
					wantSome = append(wantSome, m.Event)
				}
				messages, want = append(messages, m), append(want, m.Event)
			}
			large := append(slices.Clone(messages), realtime.Message{Event: "large", Payload: strings.Repeat("x", realtime.MaxFrame)})
			if err := b.BroadcastEach("t", large); !errors.Is(err, realtime.ErrFrameTooLarge) {
				t.Fatalf("a frame that is too large: %v", err)
			}
			if err := b.BroadcastEach("nobody", large); err != nil {
				t.Fatalf("nobody listens: %v", err)
			}
			if err := b.BroadcastEach("t", messages); err != nil {
				t.Fatal(err)
			}
			b.Wait()
			if got := all.take(); !slices.Equal(got, want) {
				t.Errorf("all heard %v", got)
			}
			if got := some.take(); !slices.Equal(got, wantSome) {
				t.Errorf("some heard %v", got)
			}
			if all.largest < 50 { // 64 KiB at a time
				t.Errorf("at most %d frames in one piece", all.largest)
			}
		})
	}
}
