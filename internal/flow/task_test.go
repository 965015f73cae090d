package flow_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/ask"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/view"
)

// quickTasks has the product's code with shorter times.
var quickTasks = flow.TaskConfig{Lease: time.Minute, Most: 10 * time.Minute, Accept: time.Minute, Backoff: time.Millisecond}

func (s *socket) DeliverTask(d flow.TaskDelivery) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail {
		return fmt.Errorf("connection is gone")
	}
	if s.large {
		return fmt.Errorf("%w: test", flow.ErrUndeliverable)
	}
	s.tasks <- d
	return nil
}

func (s *socket) DeliverQuery(q ask.Query) error { s.queries <- q; return nil }
func (s *socket) DeliverScope(q ask.Scope) error { s.scopes <- q; return nil }

func (s *socket) nextTask() flow.TaskDelivery {
	s.b.t.Helper()
	return receive(s.b.t, "task", s.tasks)
}

func heldTask(d flow.TaskDelivery) flow.HeldClaim {
	h := flow.HeldClaim{QueueID: d.Claim.ID, ExecutorID: d.Claim.ExecutorID}
	if d.Ours {
		h.Generation = new(d.Claim.Generation)
	}
	return h
}

func (b *bench) ask(who access.Actor, room id.Conversation, title string, to ...access.Actor) flow.TaskView {
	b.t.Helper()
	n := flow.NewTask{ConversationID: room, Title: title, Description: "Do it well."}
	for _, a := range to {
		n.AssignedTo = append(n.AssignedTo, a.ID)
	}
	v, err := b.k.Create(b.t.Context(), who, n)
	if err != nil {
		b.t.Fatalf("create task: %v", err)
	}
	return v
}

func (b *bench) accept(who access.Actor, d flow.TaskDelivery) {
	b.t.Helper()
	if err := b.k.Accept(b.t.Context(), who, heldTask(d)); err != nil {
		b.t.Fatalf("accept: %v", err)
	}
}

func (b *bench) task(t id.Task) flow.TaskView {
	b.t.Helper()
	v, err := b.k.Get(b.t.Context(), access.System(), t)
	if err != nil {
		b.t.Fatalf("get task: %v", err)
	}
	return v
}

// reaches waits for a state that follows from what others do.
func (b *bench) reaches(t id.Task, want task.Status) flow.TaskView {
	b.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		v := b.task(t)
		if v.Status == want {
			return v
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			b.t.Fatalf("task is %s (%v), want %s", v.Status, v.FailureMessage, want)
		}
	}
}

func (b *bench) texts(room id.Conversation) []string {
	b.t.Helper()
	list, err := view.Timeline(b.t.Context(), b.DB, room, nil, 50)
	if err != nil {
		b.t.Fatal(err)
	}
	var out []string
	for _, m := range list {
		if m.MessageType == nil {
			out = append(out, m.Content)
		}
	}
	slices.Reverse(out)
	return out
}

// TestT1_StockRunsATask: a task of a direct room is claimed, pushed whole, accepted,
// shown while it runs, and ends with its response where it was asked for.
func TestT1_T3_StockRunsATask(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(2, false)
	s := b.join(bot, ex)
	v := b.ask(ada, room, "Write a poem")
	if !v.HasWorkRoom() || v.Status != task.Pending || v.RequesterID != ada.ID || !v.Assigned(bot.ID) {
		t.Fatalf("made %+v", v.Task)
	}
	d := s.nextTask()
	if d.Task.ID != v.ID || d.Claim.ExecutorID != ex || len(d.Directives.Prompt) == 0 || d.Room.ID != v.WorkConversationID || d.Room.Type != chat.Task {
		t.Fatalf("delivery %+v", d)
	}
	b.accept(bot, d)
	if err := b.k.Accept(t.Context(), bot, heldTask(d)); !fault.Is(err, "already_accepted") {
		t.Fatalf("second accept: %v", err)
	}
	if got := b.task(v.ID); got.Status != task.Accepted || !got.Working {
		t.Fatalf("after accept: %s, working %v", got.Status, got.Working)
	}
	if err := b.k.Report(t.Context(), bot, heldTask(d), flow.Progress{Step: "rhyming", Phase: "thinking"}); err != nil {
		t.Fatal(err)
	}
	if got := b.task(v.ID); got.Status != task.InProgress {
		t.Fatalf("after progress: %s", got.Status)
	}
	if err := b.k.Finish(t.Context(), bot, v.ID, flow.TaskResult{Response: "Roses are red"}); err != nil {
		t.Fatal(err)
	}
	if got := b.task(v.ID); got.Status != task.Complete || *got.EndKind != task.Done || got.Working || *got.Response != "Roses are red" {
		t.Fatalf("after the end: %+v", got.Task)
	}
	if err := b.k.Finish(t.Context(), bot, v.ID, flow.TaskResult{Response: "again"}); !fault.Is(err, "already_ended") {
		t.Fatalf("second end: %v", err)
	}
	if err := b.k.Fail(t.Context(), bot, v.ID, "no", "", false); !fault.Is(err, "already_ended") {
		t.Fatalf("late failure: %v", err)
	}
	if err := b.k.Report(t.Context(), bot, heldTask(d), flow.Progress{Step: "late"}); fault.KindOf(err) != fault.NotFound {
		t.Fatalf("late progress: %v", err)
	}
	if got := b.texts(room); !slices.Equal(got, []string{"Roses are red"}) {
		t.Fatalf("the asking room reads %q", got)
	}
	if got := b.texts(v.WorkConversationID); !slices.Equal(got, []string{"Roses are red"}) {
		t.Fatalf("the work room reads %q", got)
	}
	if n := b.Count(`SELECT count(*) FROM queued_tasks`); n != 0 {
		t.Fatalf("%d queue rows are left", n)
	}
	if n := b.Count(`SELECT count(*) FROM queued_messages`); n != 0 {
		t.Fatalf("%d messages were queued for a task", n)
	}
}

// TestT1_SlotsAreCountedTogether: messages and tasks share the slots of an executor.
func TestT1_SlotsAreCountedTogether(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(1, false)
	v := b.ask(ada, room, "One")
	b.Say(ada, room, "hello")
	s := b.join(bot, ex)
	d := s.next() // a person waits: messages come first
	s.idle()
	select {
	case x := <-s.tasks:
		t.Fatalf("a task came beyond the slots: %s", x.Task.Title)
	default:
	}
	b.ack(bot, d)
	if got := s.nextTask(); got.Task.ID != v.ID {
		t.Fatal("another task came")
	}
}

// TestT1_UnacceptedGoesBack: what was pushed and not accepted goes back when its
// socket ends or the server starts, without an attempt; what was accepted does not.
func TestT1_UnacceptedGoesBack(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(2, false)
	s := b.join(bot, ex)
	v := b.ask(ada, room, "Carry on")
	s.nextTask()
	s.leave()
	s = b.join(bot, ex)
	d := s.nextTask()
	if d.Claim.Attempt != 1 || d.Claim.Generation < 2 { // one more when it was claimed for the socket that just went
		t.Fatalf("attempt %d, generation %d", d.Claim.Attempt, d.Claim.Generation)
	}
	b.reboot()
	s = b.join(bot, ex)
	d = s.nextTask()
	b.accept(bot, d)
	b.reboot()
	s = b.join(bot, ex)
	s.idle()
	if len(s.tasks) != 0 {
		t.Fatal("an accepted task was pushed again")
	}
	if err := b.k.Finish(t.Context(), bot, v.ID, flow.TaskResult{Response: "done"}); err != nil {
		t.Fatal(err)
	}
}

// TestT1_LostRunsEndAsLost: a run without a sign of life is stopped and given to the
// next; after the last attempt the task ends as lost, and people see it.
func TestT1_LostRunsEndAsLost(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(2, false)
	s := b.join(bot, ex)
	v := b.ask(ada, room, "Never ends")
	for n := 1; ; n++ {
		d := s.nextTask()
		if d.Claim.Attempt != n || (n > 1 && d.Claim.Reason != task.ReasonRetry) {
			t.Fatalf("attempt %d of %d, reason %s", d.Claim.Attempt, n, d.Claim.Reason)
		}
		b.accept(bot, d)
		if _, err := b.DB.Exec(t.Context(), `UPDATE queued_tasks SET lease_until = now() - interval '1 second'`); err != nil {
			t.Fatal(err)
		}
		if c := receive(t, "command", s.commands); c.Type != "stop_task" || c.TaskID != v.ID {
			t.Fatalf("command %+v", c)
		}
		if n == 4 {
			break
		}
	}
	got := b.reaches(v.ID, task.Failed)
	if *got.EndKind != task.Lost || *got.FailureCode != task.CodeExecutorLost || *got.FailureOrigin != "platform" {
		t.Fatalf("ended as %s, %s", *got.EndKind, *got.FailureCode)
	}
}

// TestT1_TransientFailuresAreTriedAgain: only they are, with a pause, and a cap.
func TestT1_TransientFailuresAreTriedAgain(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(2, true)
	s := b.join(bot, ex)
	v := b.ask(ada, room, "Flaky")
	for range 4 {
		d := s.nextTask()
		b.accept(bot, d)
		if _, err := b.k.CompleteRun(t.Context(), bot, flow.TaskCompletion{HeldClaim: heldTask(d), Outcome: "failed", ErrorCode: "model_error", ErrorMessage: "503"}); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.reaches(v.ID, task.Exhausted); *got.EndKind != task.EndedExhausted || *got.FailureCode != "model_error" {
		t.Fatalf("ended as %s, %s", *got.EndKind, *got.FailureCode)
	}
	w := b.ask(ada, room, "Hopeless")
	d := s.nextTask()
	b.accept(bot, d)
	if st, err := b.k.CompleteRun(t.Context(), bot, flow.TaskCompletion{HeldClaim: heldTask(d), Outcome: "failed", ErrorCode: "backend_missing"}); err != nil || st != task.Failed {
		t.Fatalf("%s, %v", st, err)
	}
	if got := b.task(w.ID); *got.FailureOrigin != "tool" || *got.FailureCode != "backend_missing" {
		t.Fatalf("%+v", got.Task)
	}
}

// TestT1_EndsAreToldApart: done with nothing to show is not done.
func TestT1_EndsAreToldApart(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(4, false)
	s := b.join(bot, ex)
	run := func(title string) (flow.TaskView, flow.TaskDelivery) {
		v := b.ask(ada, room, title)
		d := s.nextTask()
		b.accept(bot, d)
		return v, d
	}
	empty, _ := run("empty")
	if err := b.k.Finish(t.Context(), bot, empty.ID, flow.TaskResult{}); err != nil {
		t.Fatal(err)
	}
	failed, _ := run("failed")
	if err := b.k.Fail(t.Context(), bot, failed.ID, "ValueError:\x00 no", "half of it\x00", false); err != nil {
		t.Fatal(err)
	}
	cancelled, _ := run("cancelled")
	if _, err := b.k.Cancel(t.Context(), ada, cancelled.ID, "not needed"); err != nil {
		t.Fatal(err)
	}
	if c := receive(t, "command", s.commands); c.Type != "stop_task" || c.TaskID != cancelled.ID {
		t.Fatalf("command %+v", c)
	}
	rejected, _ := run("rejected")
	if _, err := b.k.Reject(t.Context(), bot, rejected.ID, "not mine"); err != nil {
		t.Fatal(err)
	}
	for tid, want := range map[id.Task]task.EndKind{empty.ID: task.Empty, failed.ID: task.EndedFailed, cancelled.ID: task.EndedCancelled, rejected.ID: task.EndedRejected} {
		if got := b.task(tid); got.EndKind == nil || *got.EndKind != want {
			t.Errorf("%s ended as %v, want %s", got.Title, got.EndKind, want)
		}
	}
	for _, st := range []task.Status{task.Complete, task.Failed, task.Cancelled, task.Rejected} {
		if _, err := b.k.SetStatus(t.Context(), bot, empty.ID, st, flow.TaskResult{}); !fault.Is(err, "terminal_via_complete_task") {
			t.Errorf("an agent sets %s: %v", st, err)
		}
	}
	if got := b.task(failed.ID); *got.FailureCode != task.CodeAgentFailed || *got.Summary != "half of it" {
		t.Errorf("failed: %+v", got.Task)
	}
}

// TestT1_ParkedRunIsWokenOnceByItsAnswer: a park makes a question of the last words;
// the answer, given twice at once, wakes exactly that run once, with the answer.
func TestT1_ParkedRunIsWokenOnceByItsAnswer(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(2, false)
	s := b.join(bot, ex)
	v := b.ask(ada, room, "Paint it")
	b.accept(bot, s.nextTask())
	if _, err := b.k.SetStatus(t.Context(), bot, v.ID, task.Blocked, flow.TaskResult{Summary: "Red or blue?"}); err != nil {
		t.Fatal(err)
	}
	d, err := b.k.Detail(t.Context(), ada, v.ID)
	if err != nil || d.Status != task.Blocked || len(d.Asks) != 1 || d.Asks[0].Question != "Red or blue?" || d.Asks[0].Asked[0] != ada.ID {
		t.Fatalf("parked: %+v %v", d.Asks, err)
	}
	if left := time.Until(d.Asks[0].ExpiresAt); left < 6*24*time.Hour || left > 8*24*time.Hour {
		t.Fatalf("expires in %s", left)
	}
	s.idle()
	if err := b.k.Finish(t.Context(), bot, v.ID, flow.TaskResult{Response: "x"}); !strings.Contains(fault.From(err).Message, "[open_subtasks]") {
		t.Fatalf("completing a parked task: %v", err)
	}
	eve := b.Person("Eve")
	if _, err := b.k.Answer(t.Context(), eve, v.ID, d.Asks[0].ID, "green"); fault.KindOf(err) != fault.NotFound {
		t.Fatalf("a stranger answers: %v", err)
	}
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for n := range errs {
		wg.Go(func() { _, errs[n] = b.k.Answer(t.Context(), ada, v.ID, d.Asks[0].ID, fmt.Sprintf("blue %d", n)) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		switch {
		case err == nil:
			won++
		case !fault.Is(err, "ask_closed"):
			t.Errorf("a late answer: %v", err)
		}
	}
	if won != 1 {
		t.Fatalf("%d answers were taken", won)
	}
	over, err := view.PastDecisions(t.Context(), b.DB, ada.ID, nil, 10)
	if err != nil || len(over) != 1 || over[0].Question != "Red or blue?" || over[0].Title != "Paint it" || over[0].Outcome != "answered" ||
		!strings.HasPrefix(*over[0].Answer, "blue ") || over[0].DecidedBy != ada.ID || *over[0].DecidedByName == "" || over[0].AgentID != bot.ID {
		t.Fatalf("history: %+v %v", over, err)
	}
	oldest := over[0].Mark()
	if older, err := view.PastDecisions(t.Context(), b.DB, ada.ID, &oldest, 10); err != nil || len(older) != 0 {
		t.Errorf("before the oldest: %+v %v", older, err)
	}
	if hers, err := view.PastDecisions(t.Context(), b.DB, eve.ID, nil, 10); err != nil || len(hers) != 0 {
		t.Errorf("a stranger's history: %+v %v", hers, err)
	}
	again := s.nextTask()
	if again.Claim.Reason != task.ReasonAnswered || again.Claim.Attempt != 1 || !strings.Contains(strings.Join(again.Directives.Volatile, ""), "answered: blue") {
		t.Fatalf("woken with %q, reason %s, attempt %d", again.Directives.Volatile, again.Claim.Reason, again.Claim.Attempt)
	}
	b.accept(bot, again)
	s.idle()
	if len(s.tasks) != 0 {
		t.Fatal("the run was woken twice")
	}
}

// TestT1_AnswerInTheRoom: the asked person's message in the room of the work is the
// answer, and wakes the run and nobody else.
func TestT1_AnswerInTheRoom(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(2, false)
	s := b.join(bot, ex)
	v := b.ask(ada, room, "Paint it")
	b.accept(bot, s.nextTask())
	if err := b.k.Ask(t.Context(), bot, v.ID, ask.Ask{Question: "Which colour?", Options: []string{"red", "blue"}, DefaultValue: new("red")}); err != nil {
		t.Fatal(err)
	}
	b.Say(ada, v.WorkConversationID, "blue")
	d := s.nextTask()
	if d.Claim.Reason != task.ReasonAnswered || !strings.Contains(strings.Join(d.Directives.Volatile, ""), "answered: blue") {
		t.Fatalf("woken with %q", d.Directives.Volatile)
	}
	s.idle()
	if len(s.turns) != 0 {
		t.Fatal("the answer was also a message turn")
	}
	b.accept(bot, d)
	if err := b.k.Ask(t.Context(), bot, v.ID, ask.Ask{Question: "Which size?", DefaultValue: new("large")}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.DB.Exec(t.Context(), `UPDATE asks SET expires_at = now() - interval '1 second' WHERE status = 'open'`); err != nil {
		t.Fatal(err)
	}
	if d = s.nextTask(); !strings.Contains(strings.Join(d.Directives.Volatile, ""), "default: large") {
		t.Fatalf("after the time: %q", d.Directives.Volatile)
	}
	b.accept(bot, d)
	if err := b.k.Ask(t.Context(), bot, v.ID, ask.Ask{Question: "Which brush?"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.DB.Exec(t.Context(), `UPDATE asks SET expires_at = now() - interval '1 second' WHERE status = 'open'`); err != nil {
		t.Fatal(err)
	}
	if got := b.reaches(v.ID, task.Failed); *got.FailureCode != task.CodeAskExpired {
		t.Fatalf("failed with %s", *got.FailureCode)
	}
}

// TestT1_ResumableRunsAreRedelivered: a bridge that starts again and names a run that
// survived gets it back, and nobody else does; what it does not name is run anew.
func TestT1_ResumableRunsAreRedelivered(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(2, false)
	s := b.join(bot, ex)
	kept, gone := b.ask(ada, room, "kept"), b.ask(ada, room, "gone")
	b.accept(bot, s.nextTask())
	b.accept(bot, s.nextTask())
	other := b.join(bot, b.register(bot, "other", "i", 5, false))
	if _, err := b.g.RegisterExecutor(t.Context(), bot, registration("k", "second", 2, kept.ID)); err != nil {
		t.Fatal(err)
	}
	if d := other.nextTask(); d.Task.ID != gone.ID || d.Claim.Reason != task.ReasonRetry {
		t.Fatalf("the other bridge got %s, %s", d.Task.Title, d.Claim.Reason)
	}
	other.idle()
	if len(other.tasks) != 0 {
		t.Fatal("a surviving run was given away")
	}
	s = b.join(bot, ex)
	d := s.nextTask()
	if d.Task.ID != kept.ID || d.Claim.Reason != task.ReasonReattach || d.Claim.Attempt != 1 {
		t.Fatalf("got %s, %s, attempt %d", d.Task.Title, d.Claim.Reason, d.Claim.Attempt)
	}
	b.accept(bot, d)
	if err := b.k.Finish(t.Context(), bot, kept.ID, flow.TaskResult{Response: "ok"}); err != nil {
		t.Fatal(err)
	}
}

// TestT1_ALateReportEndsTheTask: a run that the queue took back has finished all the
// same. Its report ends the task, once, and who was given it anew finds nothing to do
// (field.md 1).
func TestT1_ALateReportEndsTheTask(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(2, true)
	s := b.join(bot, ex)
	v := b.ask(ada, room, "Slow")
	first := s.nextTask()
	b.accept(bot, first)
	b.exec(`UPDATE queued_tasks SET lease_until = now() - interval '1 second'`)
	receive(t, "command", s.commands)
	second := s.nextTask()
	_, err := b.k.CompleteRun(t.Context(), bot, flow.TaskCompletion{HeldClaim: heldTask(first), Outcome: "done", Result: flow.TaskResult{Response: "by the old claim"}})
	if !errors.Is(err, task.ErrLost) {
		t.Fatalf("the old claim: %v", err)
	}
	if err := b.k.Finish(t.Context(), bot, v.ID, flow.TaskResult{Response: "late, but done"}); err != nil {
		t.Fatal(err)
	}
	wantCode(t, "a second end", b.k.Finish(t.Context(), bot, v.ID, flow.TaskResult{Response: "again"}), "already_ended")
	wantCode(t, "a failure after the end", b.k.Fail(t.Context(), bot, v.ID, "no", "", false), "already_ended")
	wantCode(t, "the new run", b.k.Accept(t.Context(), bot, heldTask(second)), "queue_item_not_found")
	if got := b.task(v.ID); got.Status != task.Complete || *got.Response != "late, but done" || got.Working {
		t.Errorf("it is %s, %v", got.Status, got.Working)
	}
	if texts := b.texts(room); len(texts) != 1 || texts[0] != "late, but done" {
		t.Errorf("the room reads %q", texts)
	}
}
