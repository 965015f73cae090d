package flow_test

import (
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/ask"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/migrations"
)

// stopAt runs a task until its run stops at a call, and returns the request.
func (d *desk) stopAt(s *socket, v flow.TaskView, run, call string) approval.Approval {
	d.t.Helper()
	got := s.nextTask()
	if got.Task.ID != v.ID {
		d.t.Fatalf("task %s, want %s", got.Task.Title, v.Title)
	}
	d.accept(d.bot, got)
	in := d.durable(run, call, "make")
	in.TaskID = v.ID
	a := d.ask(in)
	if _, err := d.k.CompleteRun(d.t.Context(), d.bot, flow.TaskCompletion{HeldClaim: heldTask(got), Outcome: "awaiting_approval"}); err != nil {
		d.t.Fatalf("complete run: %v", err)
	}
	return a
}

func (d *desk) asks(v flow.TaskView) []ask.Ask {
	d.t.Helper()
	list, err := ask.OfTask(d.t.Context(), d.DB, v.ID)
	if err != nil {
		d.t.Fatal(err)
	}
	return list
}

func heldDecision(got flow.ApprovalDelivery) flow.HeldApproval {
	return flow.HeldApproval{QueueID: got.Row.ID, ExecutorID: got.Row.ExecutorID, Generation: got.Row.Generation}
}

// TestT1_S1_ATaskWaitsOnItsApproval: the request is the question on which the task
// waits; the decision, however it comes, moves it on, and the run that goes on is
// the work that people see.
func TestT1_S1_ATaskWaitsOnItsApproval(t *testing.T) {
	t.Parallel()
	for name, decide := range map[string]func(d *desk, a approval.Approval){
		"approved": func(d *desk, a approval.Approval) { d.decide(a, yes) },
		"denied":   func(d *desk, a approval.Approval) { d.decide(a, flow.Verdict{Act: approval.Deny}) },
		"expired": func(d *desk, a approval.Approval) {
			d.overdue(a)
			if err := d.s.ExpireDue(d.t.Context()); err != nil {
				d.t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newTaskDesk(t)
			s := d.join(d.bot, d.ex)
			v := d.bench.ask(d.owner, d.room, "Make it", d.bot)
			a := d.stopAt(s, v, "run", "call")
			if got := d.task(v.ID); got.Status != task.Waiting || got.Working {
				t.Fatalf("the task is %s, working %t", got.Status, got.Working)
			}
			q := d.asks(v)
			if len(q) != 1 || q[0].Status != ask.Open || q[0].ApprovalID != a.ID || len(q[0].Asked) != 1 || q[0].Asked[0] != d.owner.ID || strings.Contains(q[0].Question, "make") {
				t.Fatalf("it waits on %+v", q)
			}
			// It is decided, not answered: neither by REST nor by what is said in the room.
			if _, err := d.k.Answer(t.Context(), d.owner, v.ID, q[0].ID, "yes"); !fault.Is(err, ask.ErrApproval.Code) {
				t.Errorf("answered: %v", err)
			}
			if err := d.k.Finish(t.Context(), d.bot, v.ID, flow.TaskResult{Response: "early"}); !strings.HasPrefix(fault.From(err).Message, "[open_subtasks]") {
				t.Errorf("completed over an open request: %v", err)
			}
			list, err := d.s.Decisions(t.Context(), d.owner)
			if err != nil || len(list) != 1 || list[0].Kind != "permission_request" {
				t.Errorf("the inbox has %+v, %v", list, err)
			}
			decide(d, a)
			got := receive(t, "decision", s.decisions)
			if now := d.reaches(v.ID, task.InProgress); now.Working {
				t.Error("it works before the bridge has said so")
			}
			d.beat(s, got)
			if now := d.task(v.ID); !now.Working {
				t.Error("nobody sees that the run goes on")
			}
			if err := d.k.Finish(t.Context(), d.bot, v.ID, flow.TaskResult{Response: "done"}); err != nil {
				t.Fatal(err)
			}
			if err := d.s.Ack(t.Context(), d.bot, heldDecision(got), false); err != nil {
				t.Fatal(err)
			}
			if now := d.task(v.ID); now.Status != task.Complete {
				t.Errorf("the task is %s", now.Status)
			}
			if err := d.g.SweepNow(t.Context()); err != nil || len(s.tasks) != 0 {
				t.Errorf("run again: %d, %v", len(s.tasks), err)
			}
		})
	}
}

// beat is a heartbeat that names a decision.
func (d *desk) beat(s *socket, got flow.ApprovalDelivery) {
	d.t.Helper()
	_, err := d.g.Heartbeat(d.t.Context(), s.agent, s.ex, flow.Beat{Claims: []flow.NamedTurn{{QueueID: got.Row.ID.String(), Generation: got.Row.Generation}}})
	if err != nil {
		d.t.Fatal(err)
	}
}

// TestT1_S1_ARunStopsTwice: the run that goes on stops at another call; the task waits
// on that one, and one decision for each moves it.
func TestT1_S1_ARunStopsTwice(t *testing.T) {
	t.Parallel()
	d := newTaskDesk(t)
	s := d.join(d.bot, d.ex)
	v := d.bench.ask(d.owner, d.room, "Make it", d.bot)
	a := d.stopAt(s, v, "run", "call")
	d.decide(a, yes)
	got := receive(t, "decision", s.decisions)
	d.reaches(v.ID, task.InProgress)
	in := d.durable("run", "call-2", "make install")
	in.TaskID = v.ID
	b := d.ask(in)
	if err := d.s.Ack(t.Context(), d.bot, heldDecision(got), false); err != nil {
		t.Fatal(err)
	}
	d.reaches(v.ID, task.Waiting)
	if q := d.asks(v); len(q) != 2 || q[1].ApprovalID != b.ID || q[1].Status != ask.Open || q[0].Status != ask.Answered {
		t.Fatalf("it waits on %+v", q)
	}
	d.decide(b, yes)
	receive(t, "decision", s.decisions)
	d.reaches(v.ID, task.InProgress)
	if len(s.tasks) != 0 {
		t.Error("the task was offered beside its run")
	}
}

// TestT1_S1_DecidedBeforeTheRunEnds: the decision comes between the question and the
// report that the run stopped at it.
func TestT1_S1_DecidedBeforeTheRunEnds(t *testing.T) {
	t.Parallel()
	d := newTaskDesk(t)
	s := d.join(d.bot, d.ex)
	v := d.bench.ask(d.owner, d.room, "Make it", d.bot)
	run := s.nextTask()
	d.accept(d.bot, run)
	in := d.durable("run", "call", "make")
	in.TaskID = v.ID
	d.decide(d.ask(in), yes)
	got := receive(t, "decision", s.decisions)
	if _, err := d.k.CompleteRun(t.Context(), d.bot, flow.TaskCompletion{HeldClaim: heldTask(run), Outcome: "awaiting_approval"}); err != nil {
		t.Fatal(err)
	}
	d.reaches(v.ID, task.InProgress)
	if q := d.asks(v); len(q) != 0 {
		t.Errorf("it waits on %+v", q)
	}
	// The bridge gives it back, and gets it again.
	if err := d.s.Release(t.Context(), d.bot, heldDecision(got)); err != nil {
		t.Fatal(err)
	}
	receive(t, "decision", s.decisions)
	d.reaches(v.ID, task.InProgress)
}

// TestT1_S1_ALostRunBeginsAgain: the machine cannot go on with the run: the task is
// offered anew, once, and what was approved does not run unasked.
func TestT1_S1_ALostRunBeginsAgain(t *testing.T) {
	t.Parallel()
	d := newTaskDesk(t)
	s := d.join(d.bot, d.ex)
	v := d.bench.ask(d.owner, d.room, "Make it", d.bot)
	d.decide(d.stopAt(s, v, "run", "call"), yes)
	if err := d.s.Ack(t.Context(), d.bot, heldDecision(receive(t, "decision", s.decisions)), true); err != nil {
		t.Fatal(err)
	}
	again := s.nextTask()
	if again.Task.ID != v.ID || again.Claim.Reason != task.ReasonRetry || !strings.Contains(strings.Join(again.Directives.Volatile, ""), "could not be continued") {
		t.Errorf("offered %+v", again.Claim)
	}
	if err := d.g.SweepNow(t.Context()); err != nil || len(s.tasks) != 0 {
		t.Errorf("offered twice: %v", err)
	}
}

// TestT1_S1_StoppedWhileItWaits: a stop in the room takes the request back; the task
// asks how it should go on. Cancelling the task takes the request back too, and
// tells the bridge that goes on with the run.
func TestT1_S1_StoppedWhileItWaits(t *testing.T) {
	t.Parallel()
	d := newTaskDesk(t)
	s := d.join(d.bot, d.ex)
	v := d.bench.ask(d.owner, d.room, "Make it", d.bot)
	a := d.stopAt(s, v, "run", "call")
	if _, _, err := d.g.StopAgents(t.Context(), d.owner, d.room, d.bot.ID, nil); err != nil {
		t.Fatal(err)
	}
	if got := d.state(a); got != approval.Cancelled {
		t.Fatalf("the request is %s", got)
	}
	d.until(1, `SELECT count(*) FROM asks WHERE task_id = $1 AND status = 'open' AND approval_id IS NULL`, v.ID)
	if got := d.task(v.ID); got.Status != task.Waiting {
		t.Errorf("the task is %s", got.Status)
	}

	w := d.bench.ask(d.owner, d.room, "Another", d.bot)
	open := d.stopAt(s, w, "run-2", "call")
	if _, err := d.k.Cancel(t.Context(), d.owner, w.ID, ""); err != nil {
		t.Fatal(err)
	}
	if got := d.state(open); got != approval.Cancelled {
		t.Errorf("the request of a cancelled task is %s", got)
	}
	x := d.bench.ask(d.owner, d.room, "A third", d.bot)
	d.decide(d.stopAt(s, x, "run-3", "call"), yes)
	receive(t, "decision", s.decisions)
	d.reaches(x.ID, task.InProgress)
	if _, err := d.k.Cancel(t.Context(), d.owner, x.ID, ""); err != nil {
		t.Fatal(err)
	}
	for {
		c := receive(t, "command", s.commands)
		if c.Type == "stop_task" && c.TaskID == x.ID {
			break
		}
	}
	if n := d.Count(`SELECT count(*) FROM queued_approvals`); n != 0 {
		t.Errorf("%d decisions are left", n)
	}
}

// TestT1_ParkedOnNothingIsRefused: the database itself refuses a task of an agent that
// waits for nothing.
func TestT1_ParkedOnNothingIsRefused(t *testing.T) {
	t.Parallel()
	d := newTaskDesk(t)
	s := d.join(d.bot, d.ex)
	v := d.bench.ask(d.owner, d.room, "Make it", d.bot)
	d.accept(d.bot, s.nextTask())
	_, err := d.DB.Exec(t.Context(), `UPDATE tasks SET status = 'waiting' WHERE id = $1`, v.ID)
	if err == nil || !strings.Contains(err.Error(), "waits for nothing") {
		t.Errorf("parked on nothing: %v", err)
	}
}

// TestB1_ActiveTaskOfAWorkRoom: a message in the room of a task names the task to who
// does it (bridge contract 2.7); a tool call of that turn is made for who wrote it.
func TestB1_ActiveTaskOfAWorkRoom(t *testing.T) {
	t.Parallel()
	b := newTaskBench(t)
	ada, bot, room, ex := b.couple(3, false)
	s := b.join(bot, ex)
	v := b.ask(ada, room, "Whole", bot)
	run := s.nextTask()
	b.accept(bot, run)
	b.Say(ada, v.WorkConversationID, "How far are you?")
	d := s.next()
	if d.ActiveTask != v.ID {
		t.Errorf("the turn belongs to %v, want %v", d.ActiveTask, v.ID)
	}
	b.ack(bot, d)
	b.Say(ada, room, "And here?")
	if d := s.next(); !d.ActiveTask.IsZero() {
		t.Errorf("a turn outside the work room belongs to %v", d.ActiveTask)
	}
}

// TestT1_S1_WhatWaitsSurvivesTheUpgrade: a task that waited for a request before such
// questions were stored waits on it after the migration, and goes on with the decision.
func TestT1_S1_WhatWaitsSurvivesTheUpgrade(t *testing.T) {
	t.Parallel()
	d := newTaskDesk(t)
	s := d.join(d.bot, d.ex)
	v := d.bench.ask(d.owner, d.room, "Make it", d.bot)
	a := d.stopAt(s, v, "run", "call")
	run := func(names ...string) {
		t.Helper()
		for _, name := range names {
			raw, err := migrations.FS.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := d.DB.Exec(t.Context(), string(raw)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	d.g.Stop()
	run("000019_keep_what_was_decided.down.sql", "000018_list_answered_asks.down.sql", "000017_know_turns_of_approvals.down.sql", "000016_create_budgets.down.sql", "000014_ask_two_deciders.down.sql", "000013_wait_for_approvals.down.sql")
	if n := d.Count(`SELECT count(*) FROM asks`); n != 0 {
		t.Fatalf("%d questions are left", n)
	}
	run("000013_wait_for_approvals.up.sql", "000014_ask_two_deciders.up.sql", "000016_create_budgets.up.sql", "000017_know_turns_of_approvals.up.sql", "000018_list_answered_asks.up.sql", "000019_keep_what_was_decided.up.sql")
	d.open()
	if q := d.asks(v); len(q) != 1 || q[0].ApprovalID != a.ID || q[0].Status != ask.Open {
		t.Fatalf("it waits on %+v", q)
	}
	s = d.join(d.bot, d.ex)
	d.decide(a, yes)
	receive(t, "decision", s.decisions)
	d.reaches(v.ID, task.InProgress)
}
