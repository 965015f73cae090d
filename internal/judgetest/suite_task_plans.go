package judgetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"
)

// taskDeferred: the open_subtasks refusal leaves the task open; the end of the
// sub-task wakes the parent's agent once.
func taskDeferred(t *testing.T, g Target) {
	s := newStage(t, g, "Parent")
	var helper, key string
	s.step("create helper", func(ctx context.Context) (err error) {
		helper, key, err = s.d.CreateAgent(ctx, "Child")
		return err
	})
	var conv string
	s.step("create room", func(ctx context.Context) (err error) {
		conv, err = s.d.CreateConversation(ctx, "group", "Family", s.agentID, helper)
		return err
	})
	goOn := make(chan struct{})
	child := New(t, g.BaseURL, helper, key, BridgeOptions{Ledger: s.led, SocketDelay: 50 * time.Millisecond, Backend: "claude_cli", Task: func(ctx context.Context, task *TaskTurn) TaskReply {
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return TaskReply{Text: "child is done"}
	}})
	s.step("helper starts", child.Start)
	s.step("helper joins", func(ctx context.Context) error { return child.WaitJoined(ctx, 1) })
	runs := make(chan struct{}, 8)
	b := s.bridge(BridgeOptions{
		Task: func(ctx context.Context, task *TaskTurn) TaskReply {
			runs <- struct{}{}
			if len(runs) > 1 {
				return TaskReply{Text: "parent is done"}
			}
			if _, err := task.CreateTask(ctx, "child job", "a part of it", helper); err != nil {
				return TaskReply{Err: err}
			}
			return TaskReply{Text: "too early"}
		},
		// The wake may come as a message of the work conversation instead.
		Model: func(ctx context.Context, turn *Turn) Reply {
			if id := str(turn.Raw, "activeTaskId"); id != "" {
				a, err := turn.b.callREST(ctx, call{method: "POST", path: "/api/mcp", body: map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call",
					"params": map[string]any{"name": "complete_task", "arguments": map[string]any{"task_id": id, "silent": false, "response": "parent is done"}}}})
				if text, ok := rpcVerdict(a); err != nil || !ok {
					return Reply{Err: fmt.Errorf("complete after the wake: %w %s", err, text)}
				}
			}
			return Reply{Text: "noted"}
		},
	})
	mark := s.d.Mark()
	id := s.assign(conv, "parent job", nil)
	first := s.tasks(b, "parent defers", 1, byTask(id))[0]
	s.outcome(first, "deferred")
	s.reads(id, "accepted", "in_progress", "waiting", "blocked")
	close(goOn)
	s.tasks(child, "child ends", 1, func(r TaskRecord) bool { return r.Outcome == "completed" })
	s.becomes(mark, id, "complete")
	if n := s.stored(conv, "too early"); n != 0 {
		t.Error("[bridge 2.8.1] the refused response was posted")
	}
	if n := s.stored(conv, "parent is done"); n > 1 {
		t.Errorf("[row T1] the parent's result was posted %d times", n)
	}
}

// taskPlan: the server walks the plan, the bridge loops on claim-step.
func taskPlan(t *testing.T, g Target) {
	s := newStage(t, g, "Planner")
	conv := s.room("direct", "")
	b := s.bridge(BridgeOptions{Task: func(_ context.Context, task *TaskTurn) TaskReply {
		if task.StepID == "" {
			return TaskReply{Err: errors.New("the plan was not delivered")}
		}
		return TaskReply{Text: "did " + task.StepID}
	}})
	step := func(id string, after ...string) map[string]any {
		if after == nil {
			after = []string{}
		}
		return map[string]any{"id": id, "title": "step " + id, "prompt": "do " + id, "depends_on": after}
	}
	id := s.assign(conv, "planned job", map[string]any{"execution_plan": map[string]any{"steps": []any{step("last", "left", "right"), step("left", "first"), step("right", "first"), step("first")}}})
	r := s.tasks(b, "plan ends", 1, byTask(id))[0]
	s.outcome(r, "completed")
	if len(r.Steps) != 4 || r.Steps[0] != "first" || r.Steps[3] != "last" {
		t.Errorf("[bridge 2.8] steps were claimed as %v: dependencies come first, each step once", r.Steps)
	}
	s.reads(id, "complete")
}

// taskReattached: a process dies, its run survives, the next one adopts it.
func taskReattached(t *testing.T, g Target) {
	s := newStage(t, g, "Survivor")
	conv := s.room("direct", "")
	running := make(chan string, 4)
	one := s.bridge(BridgeOptions{Task: func(ctx context.Context, task *TaskTurn) TaskReply {
		running <- task.TaskID
		<-ctx.Done()
		return TaskReply{}
	}})
	mark := s.d.Mark()
	id := s.assign(conv, "long job", nil)
	s.step("task runs", func(ctx context.Context) error { return waitFor(ctx, running, id) })
	one.Kill()
	two := s.bridge(BridgeOptions{Resumable: []string{id}, Task: func(_ context.Context, task *TaskTurn) TaskReply {
		return TaskReply{Text: "adopted " + task.TaskID}
	}})
	s.outcome(s.tasks(two, "adopted run ends", 1, byTask(id))[0], "completed")
	s.becomes(mark, id, "complete")
	s.open(s.d, conv)
	s.answered(s.d, conv, "adopted "+id)
	s.once(s.d, conv, "adopted "+id)
}

// taskLeftBehind: a process dies and the next one does not know the run. The
// task must not stay open for ever: it runs again or it fails (bridge 3.2).
func taskLeftBehind(t *testing.T, g Target) {
	s := newStage(t, g, "Forgetful")
	conv := s.room("direct", "")
	running := make(chan string, 4)
	one := s.bridge(BridgeOptions{Task: func(ctx context.Context, task *TaskTurn) TaskReply {
		running <- task.TaskID
		<-ctx.Done()
		return TaskReply{}
	}})
	mark := s.d.Mark()
	id := s.assign(conv, "lost job", nil)
	s.step("task runs", func(ctx context.Context) error { return waitFor(ctx, running, id) })
	one.Kill()
	two := s.bridge(BridgeOptions{Task: func(_ context.Context, task *TaskTurn) TaskReply {
		return TaskReply{Text: "second try of " + task.TaskID}
	}})
	s.step("task ends one way or the other", func(ctx context.Context) error {
		_, err := s.d.WaitEvent(ctx, mark, "task_updated|task_completed", func(p map[string]any) bool {
			one, _ := dig(p, "taskId|task_id|id|task.id")
			return one == id && terminal[str(p, "status")]
		})
		return err
	})
	s.reads(id, "complete", "failed", "exhausted")
	if n := s.stored(conv, "second try of "+id); n > 1 {
		t.Errorf("[row T1] the result was posted %d times", n)
	}
	next := s.assign(conv, "next job", nil)
	s.outcome(s.tasks(two, "the slot is free again", 1, byTask(next))[0], "completed")
}

// taskDrop: the socket drops while a task runs; it is not delivered again and
// ends over REST (bridge 2.13).
func taskDrop(t *testing.T, g Target) {
	s := newStage(t, g, "Dropped")
	conv := s.room("direct", "")
	running, goOn := make(chan string, 4), make(chan struct{})
	b := s.bridge(BridgeOptions{Task: func(ctx context.Context, task *TaskTurn) TaskReply {
		running <- task.TaskID
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return TaskReply{Text: "ended after the drop"}
	}})
	id := s.assign(conv, "interrupted job", nil)
	s.step("task runs", func(ctx context.Context) error { return waitFor(ctx, running, id) })
	b.DropSocket()
	s.step("rejoin", func(ctx context.Context) error { return b.WaitJoined(ctx, 2) })
	close(goOn)
	s.outcome(s.tasks(b, "task ends", 1, byTask(id))[0], "completed")
	s.reads(id, "complete")
	n := 0
	for _, r := range b.Tasks() {
		if r.Outcome == "completed" || r.Outcome == "failed" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("[bridge 2.8] the task ran %d times: accept refuses second deliveries", n)
	}
}

// taskMany: more tasks than slots, each ends once.
func taskMany(t *testing.T, g Target) {
	s := newStage(t, g, "Busy")
	conv := s.room("direct", "")
	b := s.bridge(BridgeOptions{MaxConcurrent: 2, Task: func(_ context.Context, task *TaskTurn) TaskReply { return TaskReply{Text: "end of " + task.TaskID} }})
	ids := map[string]bool{}
	for i := range 12 {
		ids[s.assign(conv, fmt.Sprintf("job %d", i), nil)] = true
	}
	s.tasks(b, "all end", 12, func(r TaskRecord) bool { return r.Outcome == "completed" })
	for id := range ids {
		s.reads(id, "complete")
		if n := s.stored(conv, "end of "+id); n != 1 {
			t.Errorf("[row T1] the result of one task was posted %d times", n)
		}
	}
	if n := len(b.Tasks()); n != 12 {
		t.Errorf("[bridge 2.8] %d deliveries of 12 tasks", n)
	}
}
