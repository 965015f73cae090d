package flow_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/ask"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/flow/flowtest"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/view"
)

// TestT1_SubtasksWakeTheParentOnce: complete_task is refused while sub-tasks are open;
// the barrier wakes the parent once, with their results.
func TestT1_SubtasksWakeTheParentOnce(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(3, false)
	s := b.join(bot, ex)
	v := b.ask(ada, room, "Whole")
	b.accept(bot, s.nextTask())
	for n := range 3 {
		if _, err := b.k.Create(t.Context(), bot, flow.NewTask{ConversationID: v.WorkConversationID, Title: fmt.Sprintf("Part %d", n), Parent: v.ID}); err != nil {
			t.Fatal(err)
		}
	}
	err := b.k.Finish(t.Context(), bot, v.ID, flow.TaskResult{Response: "early"})
	if !strings.HasPrefix(fault.From(err).Message, "[open_subtasks]") {
		t.Fatalf("completed over open sub-tasks: %v", err)
	}
	if got := b.task(v.ID); got.Status != task.Waiting || got.Working {
		t.Fatalf("the parent is %s", got.Status)
	}
	var parts []flow.TaskDelivery
	for range 3 {
		d := s.nextTask()
		if d.Task.ParentTaskID != v.ID || d.Task.RequesterID != ada.ID || d.Room.ID != v.WorkConversationID {
			t.Fatalf("sub-task %+v", d.Task)
		}
		b.accept(bot, d)
		parts = append(parts, d)
	}
	var wg sync.WaitGroup
	for n, d := range parts {
		wg.Go(func() {
			if err := b.k.Finish(t.Context(), bot, d.Task.ID, flow.TaskResult{Response: fmt.Sprintf("piece %d", n)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	d := s.nextTask()
	note := strings.Join(d.Directives.Volatile, "")
	if d.Task.ID != v.ID || d.Claim.Reason != task.ReasonWoken || !strings.Contains(note, "piece 0") || !strings.Contains(note, "piece 2") {
		t.Fatalf("woken: %s %s %q", d.Task.Title, d.Claim.Reason, note)
	}
	b.accept(bot, d)
	s.idle()
	if len(s.tasks) != 0 {
		t.Fatal("the parent was woken twice")
	}
	if err := b.k.Finish(t.Context(), bot, v.ID, flow.TaskResult{Response: "all of it"}); err != nil {
		t.Fatal(err)
	}
	if got := b.texts(room); !slices.Equal(got, []string{"all of it"}) {
		t.Fatalf("the asking room reads %q", got)
	}
}

// TestT1_JoinModes: any and count fire early, a time-out fires without results, and
// what is open when the parent ends is cancelled.
func TestT1_JoinModes(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(8, false)
	s := b.join(bot, ex)
	part := func(v flow.TaskView, n int) flow.TaskDelivery {
		t.Helper()
		if _, err := b.k.Create(t.Context(), bot, flow.NewTask{ConversationID: v.WorkConversationID, Title: fmt.Sprintf("Part %d of %s", n, v.Title), Parent: v.ID}); err != nil {
			t.Fatal(err)
		}
		d := s.nextTask()
		b.accept(bot, d)
		return d
	}
	for _, j := range []task.Join{{Mode: task.JoinAny}, {Mode: task.JoinCount, Count: 2}, {Mode: task.JoinAll, Until: new(time.Now().Add(50 * time.Millisecond))}} {
		v := b.ask(ada, room, string(j.Mode))
		b.accept(bot, s.nextTask())
		parts := []flow.TaskDelivery{part(v, 0), part(v, 1), part(v, 2)}
		if open, err := b.k.Join(t.Context(), bot, v.ID, j); err != nil || open != 3 {
			t.Fatalf("%s: %d open, %v", j.Mode, open, err)
		}
		if err := b.k.Finish(t.Context(), bot, v.ID, flow.TaskResult{}); !fault.Is(err, "open_subtasks") {
			t.Fatal(err)
		}
		done := map[task.JoinMode]int{task.JoinAny: 1, task.JoinCount: 2}[j.Mode]
		for n := range done {
			if err := b.k.Finish(t.Context(), bot, parts[n].Task.ID, flow.TaskResult{Response: "r"}); err != nil {
				t.Fatal(err)
			}
		}
		d := s.nextTask()
		if d.Task.ID != v.ID || d.Claim.Reason != task.ReasonWoken {
			t.Fatalf("%s: woken %s, %s", j.Mode, d.Task.Title, d.Claim.Reason)
		}
		b.accept(bot, d)
		if err := b.k.Finish(t.Context(), bot, v.ID, flow.TaskResult{Response: "enough"}); err != nil {
			t.Fatalf("%s: %v", j.Mode, err)
		}
		for n := done; n < 3; n++ {
			b.reaches(parts[n].Task.ID, task.Cancelled)
		}
		for range 3 - done {
			receive(t, "stop", s.commands)
		}
	}
}

// TestT1_SeveralAssignees: the task fans out, and ends by itself with their results.
func TestT1_SeveralAssignees(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada := b.Person("Ada")
	nova, vela := b.Agent(ada, "Nova"), b.Agent(ada, "Vela")
	room := b.Room("group", ada, nova, vela)
	sn, sv := b.join(nova, b.register(nova, "k", "i", 2, false)), b.join(vela, b.register(vela, "k", "i", 2, false))
	v := b.ask(ada, room, "Both of you", nova, vela)
	if !v.FanOut || v.Status != task.InProgress || v.HasWorkRoom() {
		t.Fatalf("made %+v", v.Task)
	}
	for who, s := range map[string]*socket{"nova": sn, "vela": sv} {
		d := s.nextTask()
		b.accept(s.agent, d)
		if err := b.k.Finish(t.Context(), s.agent, v.ID, flow.TaskResult{}); !fault.Is(err, "ends_with_subtasks") {
			t.Fatalf("ended the whole: %v", err)
		}
		if err := b.k.Finish(t.Context(), s.agent, d.Task.ID, flow.TaskResult{Response: who + " says"}); err != nil {
			t.Fatal(err)
		}
	}
	got := b.reaches(v.ID, task.Complete)
	if !strings.Contains(*got.Response, "nova says") || !strings.Contains(*got.Response, "vela says") {
		t.Fatalf("response %q", *got.Response)
	}
	if texts := b.texts(room); len(texts) != 2 {
		t.Fatalf("the room reads %q", texts)
	}
}

// TestT1_Dependencies: a task waits for those it depends on and gets their results; one
// that cannot come any more fails it.
func TestT1_Dependencies(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(4, false)
	s := b.join(bot, ex)
	first, other := b.ask(ada, room, "first"), b.ask(ada, room, "other")
	then, err := b.k.Create(t.Context(), ada, flow.NewTask{ConversationID: room, Title: "then", DependsOn: []id.Task{first.ID}})
	if err != nil {
		t.Fatal(err)
	}
	never, err := b.k.Create(t.Context(), ada, flow.NewTask{ConversationID: room, Title: "never", DependsOn: []id.Task{first.ID, other.ID}})
	if err != nil {
		t.Fatal(err)
	}
	b.accept(bot, s.nextTask())
	b.accept(bot, s.nextTask())
	s.idle()
	if len(s.tasks) != 0 {
		t.Fatal("a task did not wait for what it depends on")
	}
	if err := b.k.Finish(t.Context(), bot, first.ID, flow.TaskResult{Response: "42"}); err != nil {
		t.Fatal(err)
	}
	if d := s.nextTask(); d.Task.ID != then.ID || !strings.Contains(strings.Join(d.Directives.Volatile, ""), "42") {
		t.Fatalf("got %s with %q", d.Task.Title, d.Directives.Volatile)
	}
	if err := b.k.Fail(t.Context(), bot, other.ID, "no", "", true); err != nil {
		t.Fatal(err)
	}
	if got := b.reaches(never.ID, task.Failed); *got.FailureCode != task.CodeDependency {
		t.Fatalf("failed with %s", *got.FailureCode)
	}
}

// TestT1_Plans: steps are given one after the other by their dependencies; a step that
// was begun is given again, and a plan can grow.
func TestT1_Plans(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	_, err := b.k.Create(t.Context(), ada, flow.NewTask{ConversationID: room, Title: "Plan", Metadata: []byte(`{"execution_plan":{"steps":[
		{"id":"b","title":"B","prompt":"do b","depends_on":["a"]},{"id":"a","title":"A","prompt":"do a"}]}}`)})
	if err != nil {
		t.Fatal(err)
	}
	d := s.nextTask()
	if len(d.Steps) != 2 {
		t.Fatalf("delivered with %d steps", len(d.Steps))
	}
	b.accept(bot, d)
	h := heldTask(d)
	claim := func(want string) {
		t.Helper()
		c, err := b.k.ClaimStep(t.Context(), bot, h)
		if err != nil || (want == "") != (c.Step == nil) || (c.Step != nil && c.Step.Key != want) {
			t.Fatalf("claimed %+v, %v; want %q", c.Step, err, want)
		}
	}
	claim("a")
	if _, err := b.k.ClaimStep(t.Context(), bot, h); !fault.Is(err, "step_in_progress") {
		t.Fatalf("a step was given twice: %v", err)
	}
	if err := b.k.ReportStep(t.Context(), bot, h, "a", task.StepCompleted, []byte(`{"summary":"ok"}`)); err != nil {
		t.Fatal(err)
	}
	claim("b")
	if _, err := b.k.ExtendPlan(t.Context(), bot, h, []task.Step{{Key: "c", Title: "C", Prompt: "do c", DependsOn: []string{"b"}}}); err != nil {
		t.Fatal(err)
	}
	if err := b.k.ReportStep(t.Context(), bot, h, "b", task.StepFailed, []byte(`{"error":"x"}`)); err != nil {
		t.Fatal(err)
	}
	claim("")
	c, err := b.k.ClaimStep(t.Context(), bot, h)
	if err != nil || len(c.Plan) != 3 || c.Plan[2].Status != task.StepSkipped || !strings.Contains(c.Summary, "1 of 3") {
		t.Fatalf("%+v %v", c, err)
	}
}

// TestT1_NotificationsTellTasksApart: who asked hears that a task has ended, who is to
// do it that it was given to them, who is asked like of a mention; others as always.
func TestT1_NotificationsTellTasksApart(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bob := b.Person("Ada"), b.Person("Bob")
	bot := b.Agent(ada, "Bot")
	room := b.Room("group", ada, bob, bot)
	s := b.join(bot, b.register(bot, "k", "i", 2, false))
	told := func() map[id.Participant]string {
		all := flowtest.EventsOf[flow.ConversationUpdated](b.World)
		out := map[id.Participant]string{}
		for _, r := range all[len(all)-1].To {
			for _, p := range r.IDs {
				if r.Category != nil {
					out[p] = *r.Category
				}
			}
		}
		return out
	}
	expect := func(what, forAda, forBob string) {
		t.Helper()
		if got := told(); got[ada.ID] != forAda || got[bob.ID] != forBob {
			t.Errorf("%s: Ada hears %q, Bob %q; want %q and %q", what, got[ada.ID], got[bob.ID], forAda, forBob)
		}
	}
	v := b.ask(ada, room, "Count", bot)
	expect("asked for", "", "agent_activity")
	reads := flowtest.EventsOf[flow.ConversationRead](b.World)
	if len(reads) == 0 || reads[len(reads)-1].Participant != ada.ID {
		t.Error("what Ada asked for is unread for her")
	}
	b.accept(bot, s.nextTask())
	if err := b.k.Ask(t.Context(), bot, v.ID, ask.Ask{Question: "Aloud?", Asked: []id.Participant{bob.ID}}); err != nil {
		t.Fatal(err)
	}
	expect("a question", "agent_activity", "mentions")
	if n, err := view.UnreadIn(t.Context(), b.DB, bob.ID, []id.Conversation{room}); err != nil || n[room].Mentions != 1 {
		t.Errorf("when he looks later, Bob is mentioned %d times, %v", n[room].Mentions, err)
	}
	if _, err := b.k.Cancel(t.Context(), ada, v.ID, ""); err != nil {
		t.Fatal(err)
	}
	v = b.ask(ada, room, "Count again", bot)
	b.accept(bot, s.nextTask())
	if err := b.k.Finish(t.Context(), bot, v.ID, flow.TaskResult{Response: "42"}); err != nil {
		t.Fatal(err)
	}
	expect("the result", "task_completed", "agent_activity")
	v = b.ask(ada, room, "Fail", bot)
	b.accept(bot, s.nextTask())
	if err := b.k.Fail(t.Context(), bot, v.ID, "no", "", false); err != nil {
		t.Fatal(err)
	}
	expect("the failure", "task_completed", "agent_activity")
	if _, err := b.k.Create(t.Context(), bot, flow.NewTask{ConversationID: room, Title: "Look", AssignedTo: []id.Participant{bob.ID}}); err != nil {
		t.Fatal(err)
	}
	expect("given to a person", "agent_activity", "task_assigned")
}

// TestT1_Steering: interrupt, reassign, retry with changes, and who may do it.
func TestT1_Steering(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(3, false)
	s := b.join(bot, ex)
	v := b.ask(ada, room, "Steer me")
	b.accept(bot, s.nextTask())
	eve := b.Person("Eve")
	if _, err := b.k.Cancel(t.Context(), eve, v.ID, ""); fault.KindOf(err) != fault.NotFound {
		t.Fatalf("a stranger cancels: %v", err)
	}
	if _, err := b.k.Interrupt(t.Context(), ada, v.ID, "shorter, please"); err != nil {
		t.Fatal(err)
	}
	if c := receive(t, "command", s.commands); c.Type != "stop_task" {
		t.Fatalf("command %+v", c)
	}
	d := s.nextTask()
	if d.Claim.Reason != task.ReasonWoken || !strings.Contains(strings.Join(d.Directives.Volatile, ""), "shorter, please") {
		t.Fatalf("after the interruption: %q", d.Directives.Volatile)
	}
	b.accept(bot, d)
	if got, err := b.k.Interrupt(t.Context(), ada, v.ID, ""); err != nil || got.Status != task.Waiting {
		t.Fatalf("interrupted without words: %v %v", got.Status, err)
	}
	vela := b.Agent(ada, "Vela")
	sv := b.join(vela, b.register(vela, "k", "i", 2, false))
	if _, err := b.k.Reassign(t.Context(), ada, v.ID, vela.ID); err != nil {
		t.Fatal(err)
	}
	d = sv.nextTask()
	if d.Task.ID != v.ID {
		t.Fatal("another task came")
	}
	if err := b.k.Finish(t.Context(), bot, v.ID, flow.TaskResult{}); !fault.Is(err, "not_assigned") {
		t.Fatalf("the old agent ends it: %v", err)
	}
	b.accept(vela, d)
	if err := b.k.Finish(t.Context(), vela, v.ID, flow.TaskResult{Response: "too long"}); err != nil {
		t.Fatal(err)
	}
	again, err := b.k.Revise(t.Context(), ada, v.ID, "Half of it")
	if err != nil || again.RetryOf != v.ID || again.WorkConversationID != v.WorkConversationID || !again.Assigned(vela.ID) {
		t.Fatalf("revision %+v %v", again.Task, err)
	}
	if d = sv.nextTask(); !strings.Contains(strings.Join(d.Directives.Volatile, ""), "Half of it") || !strings.Contains(strings.Join(d.Directives.Volatile, ""), "too long") {
		t.Fatalf("revised with %q", d.Directives.Volatile)
	}
	if _, err := b.k.Retry(t.Context(), ada, again.ID, flow.Again{}); !fault.Is(err, "not_ended") {
		t.Fatalf("retried while it runs: %v", err)
	}
}

// TestT1_DuplicatesAndAssignees: the same is not asked for twice, and nobody gets a
// task from somebody they do not know.
func TestT1_DuplicatesAndAssignees(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, _ := b.couple(1, false)
	b.ask(ada, room, "Once")
	if _, err := b.k.Create(t.Context(), ada, flow.NewTask{ConversationID: room, Title: "once ", Description: "Do it well."}); err == nil || !strings.Contains(err.Error(), "open already") {
		t.Fatalf("made twice: %v", err)
	}
	eve := b.Stranger("Eve")
	foe := b.Agent(eve, "Foe")
	if _, err := b.k.Create(t.Context(), ada, flow.NewTask{ConversationID: room, Title: "x", AssignedTo: []id.Participant{foe.ID}}); !fault.Is(err, "unauthorized") {
		t.Fatalf("given to a stranger's agent: %v", err)
	}
	if _, err := b.k.Create(t.Context(), ada, flow.NewTask{ConversationID: room, Title: "x", AssignedTo: []id.Participant{id.New[id.Participant]()}}); !fault.Is(err, "invalid_assignees_not_found") {
		t.Fatalf("given to nobody: %v", err)
	}
	if _, err := b.k.Create(t.Context(), eve, flow.NewTask{ConversationID: room, Title: "x"}); fault.KindOf(err) != fault.NotFound {
		t.Fatalf("asked for in a foreign room: %v", err)
	}
	own, err := b.k.Create(t.Context(), bot, flow.NewTask{ConversationID: room, Title: "mine"})
	if err != nil || !own.Assigned(bot.ID) || own.RequesterID != ada.ID {
		t.Fatalf("own task %+v %v", own.Task, err)
	}
}

// TestT1_PeopleDoTasksToo: a person accepts, works, waits and completes by REST.
func TestT1_PeopleDoTasksToo(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bob := b.Person("Ada"), b.Person("Bob")
	room := b.Room("group", ada, bob)
	v := b.ask(ada, room, "Call them", bob)
	for _, st := range []task.Status{task.Accepted, task.InProgress, task.Waiting, task.InProgress} {
		if got, err := b.k.SetStatus(t.Context(), bob, v.ID, st, flow.TaskResult{}); err != nil || got.Status != st {
			t.Fatalf("to %s: %s %v", st, got.Status, err)
		}
	}
	if _, err := b.k.SetStatus(t.Context(), ada, v.ID, task.Complete, flow.TaskResult{}); !fault.Is(err, "not_assigned") {
		t.Fatalf("somebody else ends it: %v", err)
	}
	if got, err := b.k.SetStatus(t.Context(), bob, v.ID, task.Complete, flow.TaskResult{Response: "They agree."}); err != nil || got.Status != task.Complete {
		t.Fatalf("%s %v", got.Status, err)
	}
	if n := b.Count(`SELECT count(*) FROM queued_tasks`); n != 0 {
		t.Fatal("a person's task was queued")
	}
}

// TestT1_CrashBetweenAnswerAndWake: what follows from a commit is found by the sweep
// when the process that would have done it is gone.
func TestT1_CrashBetweenAnswerAndWake(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(2, false)
	s := b.join(bot, ex)
	v := b.ask(ada, room, "Wait")
	b.accept(bot, s.nextTask())
	if err := b.k.Ask(t.Context(), bot, v.ID, ask.Ask{Question: "Go on?"}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.DB.Exec(t.Context(), `UPDATE asks SET status = 'answered', answer = 'yes', answered_by = $1, ended_at = now() WHERE task_id = $2`, ada.ID, v.ID); err != nil {
		t.Fatal(err)
	}
	if d := s.nextTask(); d.Claim.Reason != task.ReasonAnswered {
		t.Fatalf("reason %s", d.Claim.Reason)
	}
}

// TestT1_PartsAfterTheBarrier: a run that was woken and divides its work again waits
// again; "any" then means one more than it was told of.
func TestT1_PartsAfterTheBarrier(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(8, false)
	s := b.join(bot, ex)
	v := b.ask(ada, room, "Whole")
	b.accept(bot, s.nextTask())
	part := func(title string) id.Task {
		t.Helper()
		p, err := b.k.Create(t.Context(), bot, flow.NewTask{ConversationID: v.WorkConversationID, Title: title, Parent: v.ID})
		if err != nil {
			t.Fatal(err)
		}
		b.accept(bot, s.nextTask())
		return p.ID
	}
	waits := func() {
		t.Helper()
		if err := b.k.Finish(t.Context(), bot, v.ID, flow.TaskResult{Response: "early"}); !fault.Is(err, "open_subtasks") {
			t.Fatalf("it ends over open parts: %v", err)
		}
	}
	done := func(p id.Task) {
		t.Helper()
		if err := b.k.Finish(t.Context(), bot, p, flow.TaskResult{Response: "r"}); err != nil {
			t.Fatal(err)
		}
	}
	woken := func() {
		t.Helper()
		d := s.nextTask()
		if d.Task.ID != v.ID || d.Claim.Reason != task.ReasonWoken {
			t.Fatalf("woken %s, %s", d.Task.Title, d.Claim.Reason)
		}
		b.accept(bot, d)
	}
	anyMore := func(want int) {
		t.Helper()
		if open, err := b.k.Join(t.Context(), bot, v.ID, task.Join{Mode: task.JoinAny}); err != nil || open != want {
			t.Fatalf("%d open, %v", open, err)
		}
	}
	parts := []id.Task{part("a"), part("b"), part("c")}
	anyMore(3)
	waits()
	done(parts[0])
	woken()
	anyMore(2)
	waits()
	s.idle()
	if len(s.tasks) != 0 {
		t.Fatal("it is woken for what it was told of")
	}
	done(parts[1])
	woken()
	later := part("d")
	waits()
	done(later)
	s.idle()
	if len(s.tasks) != 0 {
		t.Fatal("it is woken before all are done")
	}
	done(parts[2])
	woken()
	if err := b.k.Finish(t.Context(), bot, v.ID, flow.TaskResult{Response: "all"}); err != nil {
		t.Fatal(err)
	}
	for _, p := range append(parts, later) {
		if got := b.task(p).Status; got != task.Complete {
			t.Errorf("a part is %s", got)
		}
	}
}

// TestT1_AnAnswerDoesNotCoverTheResults: a run that waits for an answer and for its
// parts is woken once, with both.
func TestT1_AnAnswerDoesNotCoverTheResults(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(8, false)
	s := b.join(bot, ex)
	v := b.ask(ada, room, "Whole")
	b.accept(bot, s.nextTask())
	p, err := b.k.Create(t.Context(), bot, flow.NewTask{ConversationID: v.WorkConversationID, Title: "Part", Parent: v.ID})
	if err != nil {
		t.Fatal(err)
	}
	b.accept(bot, s.nextTask())
	if err := b.k.Finish(t.Context(), bot, v.ID, flow.TaskResult{}); !fault.Is(err, "open_subtasks") {
		t.Fatal(err)
	}
	if err := b.k.Ask(t.Context(), bot, v.ID, ask.Ask{Question: "Which colour?"}); err != nil {
		t.Fatal(err)
	}
	if err := b.k.Finish(t.Context(), bot, p.ID, flow.TaskResult{Response: "the part is 42"}); err != nil {
		t.Fatal(err)
	}
	b.until(1, `SELECT count(*)::int FROM tasks WHERE join_fired_at IS NOT NULL`)
	if got := b.task(v.ID); got.Status != task.Waiting {
		t.Fatalf("before the answer it is %s", got.Status)
	}
	open, err := ask.OpenOf(t.Context(), b.DB, v.ID)
	if err != nil || open == nil {
		t.Fatalf("no question: %v", err)
	}
	if _, err := b.k.Answer(t.Context(), ada, v.ID, open.ID, "green"); err != nil {
		t.Fatal(err)
	}
	d := s.nextTask()
	if told := strings.Join(d.Directives.Volatile, ""); !strings.Contains(told, "green") || !strings.Contains(told, "the part is 42") {
		t.Errorf("woken with %q", told)
	}
}
