package session_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakeserver"
)

func TestP5_FinishedTurnSurvivesAnUnreachableServer(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	finishing := make(chan struct{})
	p := &puppet{do: func(context.Context, backend.Turn, func(backend.Event)) (backend.Result, error) {
		s.SetDown(true)
		close(finishing)
		return backend.Result{Text: "kept"}, nil
	}}
	opt := options(t, s, p)
	start(t, opt)
	row := s.Post("room", "hello")
	<-finishing
	s.SetDown(false)
	got := s.WaitDone(row)
	if got.Reply() != "kept" || got.Completions != 1 || len(p.turns()) != 1 {
		t.Fatalf("reply %q completions %d runs %d", got.Reply(), got.Completions, len(p.turns()))
	}
}

// A process that died between finishing and delivering leaves a file; the next
// one sends it before it registers, and the model is not asked again.
func TestP5_FinishedTurnSurvivesACrash(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	p := says("from disk")
	opt := options(t, s, p)
	opt.Timing.Drain = 20 * time.Millisecond
	r := start(t, opt)
	s.Wait("online", s.Online)
	s.Fail("/complete", 1000, 503, "unavailable")
	row := s.Post("room", "hello")
	s.Wait("the draft to be written", func() bool { return len(drafts(t, opt.Dir)) == 1 })
	// As after a crash: no drain, no release. The socket goes, the file stays.
	r.stop()
	_ = r.wait(t)
	if n := len(drafts(t, opt.Dir)); n != 1 {
		t.Fatalf("%d drafts on disk", n)
	}
	s.ClearFaults()
	start(t, opt)
	got := s.WaitDone(row)
	if got.Reply() != "from disk" || got.Completions != 1 || len(p.turns()) != 1 {
		t.Fatalf("reply %q completions %d runs %d", got.Reply(), got.Completions, len(p.turns()))
	}
	s.Wait("an empty outbox", func() bool { return len(drafts(t, opt.Dir)) == 0 })
}

// The claim lapsed while the server was away: the answer is refused, the
// message comes back, and the answer that exists is sent instead of a new one.
func TestP5_LostClaimThatComesBackIsAnsweredFromTheOutbox(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	p := &puppet{}
	var row *fakeserver.Row
	ready := make(chan struct{})
	p.do = func(context.Context, backend.Turn, func(backend.Event)) (backend.Result, error) {
		<-ready
		s.Requeue(row, false)
		return backend.Result{Text: "once"}, nil
	}
	opt := options(t, s, p)
	opt.Timing.Heartbeat = time.Hour
	opt.Timing.StreamEvery = time.Hour
	start(t, opt)
	s.Wait("online", s.Online)
	row = s.Post("room", "hello")
	close(ready)
	s.Wait("the draft to be marked lost", func() bool {
		for _, name := range drafts(t, opt.Dir) {
			raw, _ := os.ReadFile(name)
			var d struct {
				LostAt time.Time `json:"lost_at"`
			}
			if json.Unmarshal(raw, &d) == nil && !d.LostAt.IsZero() {
				return true
			}
		}
		s.Poke()
		return false
	})
	s.Offer()
	got := s.WaitDone(row)
	if got.Reply() != "once" || len(p.turns()) != 1 {
		t.Fatalf("reply %q runs %d", got.Reply(), len(p.turns()))
	}
}

// While the model works the claim lapses and comes back to this very bridge:
// the running turn goes on under the new generation.
func TestP5_RunningTurnAdoptsItsNewClaim(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	started, goOn := make(chan struct{}), make(chan struct{})
	p := &puppet{do: func(context.Context, backend.Turn, func(backend.Event)) (backend.Result, error) {
		close(started)
		<-goOn
		return backend.Result{Text: "single"}, nil
	}}
	opt := options(t, s, p)
	opt.Timing.Heartbeat = time.Hour
	start(t, opt)
	row := s.Post("room", "hello")
	<-started
	s.Requeue(row, true)
	s.Push("gateway_command", map[string]any{"type": "nothing"})
	close(goOn)
	got := s.WaitDone(row)
	if got.Reply() != "single" || len(p.turns()) != 1 || got.Completions != 1 {
		t.Fatalf("reply %q runs %d", got.Reply(), len(p.turns()))
	}
}

// Somebody else holds the claim now: the turn is cancelled, nothing is posted.
func TestP5_LostClaimCancelsTheTurn(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	started, ended := make(chan struct{}), make(chan struct{})
	p := &puppet{do: func(ctx context.Context, _ backend.Turn, _ func(backend.Event)) (backend.Result, error) {
		close(started)
		<-ctx.Done()
		close(ended)
		return backend.Result{}, ctx.Err()
	}}
	start(t, options(t, s, p))
	row := s.Post("room", "hello")
	<-started
	s.Requeue(row, false)
	select {
	case <-ended:
	case <-time.After(30 * time.Second):
		t.Fatal("the turn went on")
	}
	if got := s.Get(row); got.State != "open" {
		t.Fatalf("state %q", got.State)
	}
}

func TestB1_DrainFinishesWhatRunsAndGivesBackTheRest(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	started, goOn := make(chan struct{}, 2), make(chan struct{})
	p := &puppet{do: func(ctx context.Context, turn backend.Turn, _ func(backend.Event)) (backend.Result, error) {
		started <- struct{}{}
		if turn.ConversationID == "stuck" {
			<-ctx.Done()
			return backend.Result{}, ctx.Err()
		}
		<-goOn
		return backend.Result{Text: "done"}, nil
	}}
	opt := options(t, s, p)
	opt.Timing.Drain = 500 * time.Millisecond
	r := start(t, opt)
	quick, stuck := s.Post("quick", "a"), s.Post("stuck", "b")
	<-started
	<-started
	r.stop()
	close(goOn)
	if err := r.wait(t); err != nil {
		t.Fatal(err)
	}
	if got := s.Get(quick); got.Reply() != "done" {
		t.Fatalf("quick: %q", got.Outcome)
	}
	if got := s.Get(stuck); got.State != "open" {
		t.Fatalf("stuck: %q", got.State)
	}
}

// Half a file is put aside, never sent and never deleted.
func TestP5_BrokenDraftIsPutAside(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	opt := options(t, s, says("ok"))
	dir := filepath.Join(opt.Dir, "outbox")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte(`{"queue_id":"x"`), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, opt)
	s.WaitDone(s.Post("room", "hello"))
	if _, err := os.Stat(filepath.Join(dir, "x.json.bad")); err != nil {
		t.Fatal(err)
	}
}
