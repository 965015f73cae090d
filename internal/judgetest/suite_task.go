package judgetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
)

// The suites of this file judge the server through the stock bridge as a whole:
// what it does with a task from the push to the end.

// bridgeTasks: every end that a stock bridge can give a task (bridge 2.8).
var bridgeTasks = inParallel(map[string]func(t *testing.T, g Target){
	"Completed": taskCompleted, "Failed": taskFailed, "Completed_by_tool": taskByTool, "Parked": taskParked, "Stopped": taskStopped, "Subtasks": taskDeferred,
	"Plan": taskPlan, "Reattached": taskReattached, "Left_behind": taskLeftBehind, "Socket_drop": taskDrop, "Many": taskMany,
})

// assign creates a task for the stage's agent as a person and returns its id.
func (s *stage) assign(conv, title string, metadata map[string]any) string {
	s.t.Helper()
	id := ""
	s.step("assign "+title, func(ctx context.Context) error {
		body := map[string]any{"title": title, "description": "for the judge: " + title, "assignedTo": []string{s.agentID}}
		if metadata != nil {
			body["metadata"] = metadata
		}
		a, err := s.d.must(ctx, "bridge 3.7", "POST", "/api/conversations/"+conv+"/tasks", body, "")
		if err == nil {
			id, _ = dig(a.JSON, "id|task.id")
		}
		if err == nil && id == "" {
			err = errors.New("[bridge 3.7] POST tasks: no id and no task.id")
		}
		return err
	})
	return id
}

// tasks waits until the bridge finished n tasks that match.
func (s *stage) tasks(b *Bridge, what string, n int, match func(TaskRecord) bool) []TaskRecord {
	s.t.Helper()
	var hit []TaskRecord
	s.step(what, func(ctx context.Context) error {
		return b.WaitTasks(ctx, what, func(all []TaskRecord) bool {
			hit = hit[:0]
			for _, r := range all {
				if match(r) {
					hit = append(hit, r)
				}
			}
			return len(hit) >= n
		})
	})
	return hit
}

func byTask(id string) func(TaskRecord) bool {
	return func(r TaskRecord) bool { return r.TaskID == id }
}

// reads waits for nothing: the status has to be that now (bridge 2.8: terminal
// at once).
func (s *stage) reads(id string, want ...string) {
	s.t.Helper()
	s.step("read task", func(ctx context.Context) error {
		a, err := s.d.must(ctx, "desktop 4.8", "GET", "/api/tasks/"+id, nil, "Task")
		if err == nil && !slices.Contains(want, a.Str("status")) {
			s.t.Errorf("[bridge 4.7] task reads %s, want one of %v", a.Str("status"), want)
		}
		return err
	})
}

// becomes waits until a task event or a read shows the status.
func (s *stage) becomes(mark int, id, want string) {
	s.t.Helper()
	s.step("task becomes "+want, func(ctx context.Context) error {
		_, err := s.d.WaitEvent(ctx, mark, "task_updated|task_completed", func(p map[string]any) bool {
			one, _ := dig(p, "taskId|task_id|id|task.id")
			return one == id && str(p, "status") == want
		})
		return err
	})
	s.reads(id, want)
}

// stored counts the agent's messages of conv that hold sub.
func (s *stage) stored(conv, sub string) int {
	s.t.Helper()
	n := 0
	for _, m := range s.history(s.d, conv) {
		if str(m, "senderId") == s.agentID && strings.Contains(str(m, "content"), sub) {
			n++
		}
	}
	return n
}

func (s *stage) outcome(r TaskRecord, want string) {
	s.t.Helper()
	if r.Outcome != want {
		s.t.Errorf("[bridge 2.8] the task ended as %s (%s), want %s", r.Outcome, r.FinishText, want)
	}
}

func taskCompleted(t *testing.T, g Target) {
	s := newStage(t, g, "Tasker")
	conv := s.room("direct", "")
	b := s.bridge(BridgeOptions{Task: func(ctx context.Context, task *TaskTurn) TaskReply {
		task.Progress(ctx, "tool_call", "Looking")
		return TaskReply{Text: "result of " + task.Title, Summary: "short"}
	}})
	s.open(s.d, conv)
	mark := s.d.Mark()
	id := s.assign(conv, "alpha job", nil)
	r := s.tasks(b, "task ends", 1, byTask(id))[0]
	s.outcome(r, "completed")
	s.becomes(mark, id, "complete")
	s.answered(s.d, conv, "result of alpha job")
	s.once(s.d, conv, "result of alpha job")
	s.step("progress was seen", func(ctx context.Context) error {
		_, err := s.d.WaitEvent(ctx, mark, "task_progress", nil)
		return err
	})
	b.DropSocket()
	s.step("rejoin", func(ctx context.Context) error { return b.WaitJoined(ctx, 2) })
	next := s.assign(conv, "beta job", nil)
	s.outcome(s.tasks(b, "second task ends", 1, byTask(next))[0], "completed")
	over := false
	s.d.read(func() {
		for _, f := range s.d.log[mark:] {
			one, _ := dig(f.Payload, "taskId|task_id|id|task.id")
			if f.Topic != "user:"+s.d.ID || !strings.HasPrefix(f.Event, "task_") || one != id {
				continue
			}
			if over && !terminal[str(f.object(), "status")] {
				t.Errorf("[row T1] %s with status %s came after the end of the task", f.Event, brief(f.object()["status"]))
			}
			over = over || terminal[str(f.object(), "status")]
		}
	})
	if n := len(b.Tasks()); n != 2 {
		t.Errorf("[bridge 2.6] %d tasks were pushed, want 2", n)
	}
}

func taskFailed(t *testing.T, g Target) {
	s := newStage(t, g, "Breaker")
	conv := s.room("direct", "")
	b := s.bridge(BridgeOptions{Task: func(_ context.Context, task *TaskTurn) TaskReply {
		if strings.Contains(task.Title, "empty") {
			return TaskReply{}
		}
		return TaskReply{Err: errors.New("out of rope")}
	}})
	mark := s.d.Mark()
	id := s.assign(conv, "break it", nil)
	s.outcome(s.tasks(b, "task fails", 1, byTask(id))[0], "failed")
	s.becomes(mark, id, "failed")
	empty := s.assign(conv, "empty run", nil)
	s.outcome(s.tasks(b, "empty task fails", 1, byTask(empty))[0], "failed")
	s.becomes(mark, empty, "failed")
}

// taskByTool: the model finished by itself; the bridge sends nothing more.
func taskByTool(t *testing.T, g Target) {
	s := newStage(t, g, "Finisher")
	conv := s.room("direct", "")
	b := s.bridge(BridgeOptions{Task: func(ctx context.Context, task *TaskTurn) TaskReply {
		name, args := "complete_task", map[string]any{"task_id": task.TaskID, "silent": false, "response": "finished by tool"}
		if strings.Contains(task.Title, "fail") {
			name, args = "fail_task", map[string]any{"task_id": task.TaskID, "silent": false, "error": "given up by tool"}
		}
		if text, ok := task.CallTool(ctx, name, args); !ok {
			return TaskReply{Err: errors.New(text)}
		}
		if text, ok := task.CallTool(ctx, name, args); ok || !strings.Contains(text, "already_ended") {
			return TaskReply{Err: errors.New("a second finisher reads as success: " + text)}
		}
		return TaskReply{Text: "and a closing word"}
	}})
	done, failed := s.assign(conv, "finish yourself", nil), s.assign(conv, "fail yourself", nil)
	s.outcome(s.tasks(b, "task ends", 1, byTask(done))[0], "tool")
	s.outcome(s.tasks(b, "task fails", 1, byTask(failed))[0], "tool")
	s.reads(done, "complete")
	s.reads(failed, "failed")
	s.open(s.d, conv)
	s.answered(s.d, conv, "finished by tool")
	s.once(s.d, conv, "finished by tool")
}

// taskParked: a run that waits leaves a question for the person (row T1).
func taskParked(t *testing.T, g Target) {
	s := newStage(t, g, "Asker")
	conv := s.room("direct", "")
	b := s.bridge(BridgeOptions{Task: func(ctx context.Context, task *TaskTurn) TaskReply {
		if text, ok := task.CallTool(ctx, "end_turn", map[string]any{"reason": "awaiting_input", "message": "Red or green paint?"}); !ok {
			return TaskReply{Err: errors.New(text)}
		}
		return TaskReply{Text: "Red or green paint?"}
	}})
	mark := s.d.Mark()
	id := s.assign(conv, "paint it", nil)
	s.outcome(s.tasks(b, "task parks", 1, byTask(id))[0], "parked")
	s.reads(id, "blocked", "waiting")
	s.step("the park is seen", func(ctx context.Context) error {
		_, err := s.d.WaitEvent(ctx, mark, "task_updated", func(p map[string]any) bool {
			one, _ := dig(p, "taskId|task_id|id|task.id")
			return one == id && (str(p, "status") == "blocked" || str(p, "status") == "waiting")
		})
		return err
	})
	s.step("the question waits", func(ctx context.Context) error {
		a, err := s.d.must(ctx, "desktop 4.2", "GET", "/api/me/decisions", nil, "DecisionList")
		if err == nil && !strings.Contains(string(a.Body), "Red or green") {
			t.Errorf("[row T1] no decision holds the question: %s", clip(string(a.Body), 300))
		}
		return err
	})
}

// taskStopped: a person's stop reaches the run, which reports nothing.
func taskStopped(t *testing.T, g Target) {
	s := newStage(t, g, "Stoppable")
	conv := s.room("direct", "")
	running := make(chan string, 4)
	b := s.bridge(BridgeOptions{Task: func(ctx context.Context, task *TaskTurn) TaskReply {
		running <- task.TaskID
		<-ctx.Done()
		return TaskReply{Text: "too late"}
	}})
	mark := s.d.Mark()
	id := s.assign(conv, "endless job", nil)
	s.step("task runs", func(ctx context.Context) error { return waitFor(ctx, running, id) })
	s.step("stop", func(ctx context.Context) error {
		_, err := s.d.must(ctx, "desktop 4.8", "PATCH", "/api/tasks/"+id+"/status", map[string]any{"status": "cancelled"}, "Task")
		return err
	})
	s.outcome(s.tasks(b, "run ends", 1, byTask(id))[0], "stopped")
	s.becomes(mark, id, "cancelled")
	if n := s.stored(conv, "too late"); n != 0 {
		t.Errorf("[bridge 2.11] a stopped task was answered")
	}
}
