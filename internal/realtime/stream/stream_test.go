package stream_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/stream"
	"github.com/agntchat/agntchat/internal/wire"
)

type recorder struct {
	mu  sync.Mutex
	log []string
}

func (r *recorder) Broadcast(m realtime.Message) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, line(m.Payload.(wire.MessageStreaming)))
	return nil
}

func line(f wire.MessageStreaming) string {
	text := "-"
	if f.Content != nil {
		text = *f.Content
	}
	return fmt.Sprintf("%s %s %s %s", f.StreamID, f.Status, f.Phase, text)
}

func (r *recorder) take() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := strings.Join(r.log, "; ")
	r.log = nil
	return out
}

func frame(sender, id, status, phase string, content ...string) wire.MessageStreaming {
	f := wire.MessageStreaming{ConversationID: "c", StreamID: id, SenderID: sender, Status: status, Phase: phase}
	if len(content) > 0 {
		f.Content = &content[0]
	}
	return f
}

func replay(s *stream.Streams) string {
	var out []string
	s.Replay("c", func(f wire.MessageStreaming) { out = append(out, line(f)) })
	return strings.Join(out, "; ")
}

// TestP6_LateJoinerGetsTheCurrentState: cumulative text survives frames without it.
func TestP6_LateJoinerGetsTheCurrentState(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	s := stream.New(rec, stream.Config{})
	s.Update(frame("a", "s1", "started", ""))
	s.Update(frame("a", "s1", "streaming", "writing", "Hello"))
	s.Update(frame("a", "s1", "streaming", "tool_call"))
	s.Update(frame("b", "s2", "started", "thinking"))
	if got, want := replay(s), "s1 streaming tool_call Hello; s2 started thinking -"; got != want {
		t.Fatalf("replay %q, want %q", got, want)
	}
	s.Update(frame("a", "s1", "streaming", "writing", ""))
	if got := replay(s); !strings.HasPrefix(got, "s1 streaming writing ;") {
		t.Fatalf("cleared text: %q", got)
	}
	if got, want := rec.take(), "s1 started thinking -; s1 streaming writing Hello; s1 streaming tool_call Hello; s2 started thinking -; s1 streaming writing "; got != want {
		t.Fatalf("sent %q", got)
	}
	if s.Update(frame("b", "s1", "streaming", "writing", "stolen")) {
		t.Fatal("a frame for somebody else's stream was taken")
	}
}

func TestP6_OneStreamPerSender(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	s := stream.New(rec, stream.Config{})
	s.Update(frame("a", "q", "started", "queued"))
	s.Update(frame("a", "s1", "started", "thinking"))
	if got, want := rec.take(), "q started queued -; q cancelled queued -; s1 started thinking -"; got != want {
		t.Fatalf("sent %q", got)
	}
	if s.Update(frame("a", "w", "started", "waiting")) {
		t.Fatal("a passive stream displaced one at work")
	}
	s.Update(frame("a", "s2", "started", "thinking"))
	if got, want := rec.take(), "s1 cancelled thinking -; s2 started thinking -"; got != want {
		t.Fatalf("sent %q", got)
	}
	if s.Update(frame("a", "s1", "streaming", "writing", "late")) {
		t.Fatal("a late frame brought a replaced stream back")
	}
}

func TestP6_CancelOneOrAll(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	s := stream.New(rec, stream.Config{})
	for _, a := range []string{"a", "b", "c"} {
		s.Update(frame(a, "s-"+a, "streaming", "writing", "x"))
	}
	rec.take()
	if n := s.Cancel("c", "b"); n != 1 || rec.take() != "s-b cancelled writing -" {
		t.Fatalf("cancelled %d", n)
	}
	if n := s.Cancel("c", ""); n != 2 || s.Cancel("c", "") != 0 || s.Cancel("other", "") != 0 {
		t.Fatalf("cancelled %d", n)
	}
	rec.take()
	if s.Update(frame("a", "s-a", "streaming", "writing", "late")) || rec.take() != "" {
		t.Fatal("a cancelled stream came back")
	}
}

func TestP6_TheMessageEndsItsStream(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	s := stream.New(rec, stream.Config{})
	s.Update(frame("a", "s1", "streaming", "writing", "x"))
	rec.take()
	s.End("c", "a", "s1")
	s.Update(frame("a", "s1", "complete", "writing", "x"))
	if got := rec.take() + replay(s); got != "" {
		t.Fatalf("after the message: %q", got)
	}
}

// TestP6_SilentStreamsAreSwept: below the 75 s of clients; a slow tool may go on.
func TestP6_SilentStreamsAreSwept(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rec := &recorder{}
		s := stream.New(rec, stream.Config{})
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { s.Run(ctx) })
		s.Update(frame("a", "s1", "streaming", "tool_call"))
		<-time.After(59 * time.Second) // the bubble's clock
		s.Update(frame("b", "s2", "streaming", "writing", "y"))
		rec.take()
		<-time.After(10 * time.Second)
		synctest.Wait()
		if got := rec.take(); got != "s1 cancelled tool_call -" {
			t.Fatalf("swept %q", got)
		}
		if !s.Update(frame("a", "s1", "streaming", "writing", "back")) {
			t.Fatal("a swept stream may not go on")
		}
		cancel()
		wg.Wait()
	})
}

// TestP6_NoOlderStateAfterANewerOne: replay and frames race; what a joiner is told
// last is never older than what was sent before.
func TestP6_NoOlderStateAfterANewerOne(t *testing.T) {
	t.Parallel()
	rec := &recorder{}
	s := stream.New(rec, stream.Config{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for n := range 500 {
			s.Update(frame("a", "s", "streaming", "writing", fmt.Sprintf("%04d", n)))
		}
	})
	wg.Go(func() {
		for range 500 {
			s.Replay("c", func(f wire.MessageStreaming) {
				rec.mu.Lock()
				defer rec.mu.Unlock()
				if last := rec.log[len(rec.log)-1]; last != line(f) {
					t.Errorf("told %q after %q", line(f), last)
				}
			})
		}
	})
	wg.Wait()
}
