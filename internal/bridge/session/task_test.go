package session_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakeserver"
)

func TestT1_TaskIsAcceptedShownAndCompletedInOneCall(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	p := says("Counted: 3.")
	start(t, options(t, s, p))
	row := s.WaitDone(s.PostTask("room", "Count"))
	if row.Outcome != "done" || row.Body["response"] != "Counted: 3." || row.Completions != 1 {
		t.Fatalf("outcome %q, body %v, %d completions", row.Outcome, row.Body, row.Completions)
	}
	if len(s.Calls("accept")) != 1 || len(s.Calls("progress")) == 0 {
		t.Fatalf("%d accepts, %d reports", len(s.Calls("accept")), len(s.Calls("progress")))
	}
	if text := p.turns()[0].Input[0].Render(); !strings.Contains(text, "# Task: Count\n\nAll of it.") {
		t.Fatalf("the model was told %q", text)
	}
}

func TestT1_TaskThatFailsSaysWhy(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	start(t, options(t, s, fails(backend.Errorf(backend.CodeRate, "too many"))))
	row := s.WaitDone(s.PostTask("room", "Count"))
	if row.Outcome != "failed" || row.ErrorCode() != backend.CodeRate || row.Body["response"] != nil {
		t.Fatalf("outcome %q, body %v", row.Outcome, row.Body)
	}
}

// A result that could not be delivered is on the disk; the next process sends it, says
// which task it holds, and does not ask the model again.
func TestT1_FinishedTaskSurvivesACrash(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	p := says("from disk")
	opt := options(t, s, p)
	opt.Timing.Drain = 20 * time.Millisecond
	r := start(t, opt)
	s.Wait("online", s.Online)
	s.Fail("/complete", 1000, 503, "unavailable")
	row := s.PostTask("room", "Count")
	s.Wait("the draft to be written", func() bool { return len(drafts(t, opt.Dir)) == 1 })
	r.stop()
	_ = r.wait(t)
	s.ClearFaults()
	start(t, opt)
	got := s.WaitDone(row)
	if got.Body["response"] != "from disk" || got.Completions != 1 || len(p.turns()) != 1 {
		t.Fatalf("body %v, %d completions, %d runs", got.Body, got.Completions, len(p.turns()))
	}
}

// A task that a person has cancelled ends without a report: the server has closed it.
func TestT1_StoppedTaskReportsNothing(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	began, ended := make(chan struct{}), make(chan struct{})
	p := &puppet{do: func(ctx context.Context, _ backend.Turn, _ func(backend.Event)) (backend.Result, error) {
		close(began)
		<-ctx.Done()
		close(ended)
		return backend.Result{Text: "too late"}, ctx.Err()
	}}
	r := start(t, options(t, s, p))
	row := s.PostTask("room", "Count")
	<-began
	s.Push("gateway_command", map[string]any{"type": "stop_task", "task_id": row.MessageID})
	<-ended
	r.stop()
	_ = r.wait(t)
	if got := s.Get(row); got.Completions != 0 {
		t.Fatalf("it reported %v", got.Body)
	}
}
