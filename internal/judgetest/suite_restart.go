package judgetest

import (
	"context"
	"testing"
	"time"
)

// restarted: the server stops and comes back while a task runs, another waits
// for its bridge, and a permission request waits for its person. Nothing of it
// is lost or done twice (bridge 2.13, rows T1, S1).
func restarted(t *testing.T, g Target) {
	if g.Restart == nil {
		t.Fatal("this suite needs a target that can be restarted")
	}
	s := newStage(t, g, "Steadfast")
	conv := s.room("direct", "")
	running, asked, goOn := make(chan string, 4), make(chan string, 4), make(chan struct{})
	verdicts := make(chan string, 4)
	b := s.bridge(BridgeOptions{
		Poll: 200 * time.Millisecond,
		Task: func(ctx context.Context, task *TaskTurn) TaskReply {
			if task.Title == "gated job" {
				verdict := task.b.Permission(ctx, Ask{Tool: "Bash", Input: map[string]any{"command": "make bell"}, Description: "Run command: make bell", ConversationID: task.WorkID, TaskID: task.TaskID},
					func(id string) { asked <- id })
				verdicts <- verdict
				return TaskReply{Text: "gated end " + verdict}
			}
			running <- task.TaskID
			select {
			case <-goOn:
			case <-ctx.Done():
			}
			return TaskReply{Text: "end of " + task.TaskID}
		},
	})
	id := s.assign(conv, "running job", nil)
	s.step("task runs", func(ctx context.Context) error { return waitFor(ctx, running, id) })
	gated := s.assign(conv, "gated job", nil)
	request := s.asked(asked)
	waiting := s.assign(conv, "waiting job", nil) // both slots are taken
	resyncs := 0
	s.d.read(func() { resyncs = s.d.resyncs })
	rctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	if err := g.Restart(rctx); err != nil {
		t.Fatalf("restart the server: %v", err)
	}
	s.step("the desktop comes back", func(ctx context.Context) error { return s.d.WaitResynced(ctx, resyncs+1) })
	s.step("the bridge comes back", func(ctx context.Context) error { return b.WaitJoined(ctx, 2) })
	s.reads(id, "accepted", "in_progress")
	s.step("the request still waits and is answered", func(ctx context.Context) error {
		if _, err := s.d.must(ctx, "desktop 4.9", "GET", "/api/permission-requests", nil, "PermissionList"); err != nil {
			return err
		}
		_, err := s.d.must(ctx, "desktop 4.9", "POST", "/api/permission-requests/"+request+"/resolve", map[string]any{"decision": "approve", "always": false}, "PermissionRequest")
		return err
	})
	s.step("the verdict arrives", func(ctx context.Context) error { return waitFor(ctx, verdicts, "allowed") })
	close(goOn)
	for _, want := range []struct{ id, text string }{{id, "end of " + id}, {gated, "gated end allowed"}, {waiting, "end of " + waiting}} {
		s.outcome(s.tasks(b, "task ends", 1, func(r TaskRecord) bool { return r.TaskID == want.id && r.Outcome != "refused" })[0], "completed")
		s.reads(want.id, "complete")
		if n := s.stored(conv, want.text); n != 1 {
			t.Errorf("[row T1] %q was posted %d times", want.text, n)
		}
	}
}
