package flow_test

import (
	"cmp"
	"errors"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/turn"
)

// spend books tokens for the agent as a bridge does.
func (b *bench) spend(bot access.Actor, n int64) {
	b.t.Helper()
	err := b.g.ReportUsage(b.t.Context(), bot, turn.Usage{AgentID: bot.ID, Model: "m", Tokens: turn.Tokens{Input: n}})
	if err != nil {
		b.t.Fatal(err)
	}
}

// stopOf waits for the open stop of an agent.
func (b *bench) stopOf(bot access.Actor) (out id.BudgetStop) {
	b.t.Helper()
	b.until(1, `SELECT count(*) FROM budget_stops WHERE agent_id = $1 AND status = 'pending'`, bot.ID)
	if err := b.DB.QueryRow(b.t.Context(), `SELECT id FROM budget_stops WHERE agent_id = $1 AND status = 'pending'`, bot.ID).Scan(&out); err != nil {
		b.t.Fatal(err)
	}
	return out
}

// TestS1_ABudgetStopsAnAgent: an agent that has used up its day begins nothing more;
// its owner decides, once: go on, raise, or wait until tomorrow.
func TestS1_ABudgetStopsAnAgent(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		answer flow.BudgetAnswer
		goesOn bool
	}{
		"continue": {flow.BudgetAnswer{Decision: "continue"}, true},
		"raise":    {flow.BudgetAnswer{Decision: "raise", TokensPerDay: 10_000}, true},
		"keep":     {flow.BudgetAnswer{Decision: "keep"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			room := d.Room("direct", d.owner, d.bot)
			if b, err := d.g.SetBudget(t.Context(), d.owner, d.bot.ID, 1000); err != nil || b.Used != 0 || b.Over() {
				t.Fatalf("budget %+v, %v", b, err)
			}
			if _, err := d.g.SetBudget(t.Context(), d.peer, d.bot.ID, 1); fault.KindOf(err) != fault.NotFound {
				t.Errorf("a stranger sets it: %v", err)
			}
			s := d.join(d.bot, d.ex)
			d.Say(d.owner, room, "first")
			d.ack(d.bot, s.next())
			d.spend(d.bot, 1000)
			d.Say(d.owner, room, "second")
			stop := d.stopOf(d.bot)
			d.g.ClaimNow(t.Context(), d.bot.ID)
			if len(s.turns) != 0 {
				t.Fatal("it goes on without tokens")
			}
			list, err := d.s.Decisions(t.Context(), d.owner)
			if err != nil || len(list) != 1 || list[0].Kind != "budget_stop" || *list[0].Used != 1000 || *list[0].TokensPerDay != 1000 {
				t.Errorf("the inbox has %+v, %v", list, err)
			}
			d.until(1, `SELECT count(*) FROM messages WHERE metadata->>'code' = 'budget_stopped' AND conversation_id = $1`, room)
			if _, err := d.g.ResolveStop(t.Context(), d.peer, stop, one.answer); fault.KindOf(err) != fault.NotFound {
				t.Errorf("a stranger decides: %v", err)
			}
			if _, err := d.g.ResolveStop(t.Context(), d.owner, stop, flow.BudgetAnswer{Decision: "raise", TokensPerDay: 1000}); fault.KindOf(err) != fault.Invalid {
				t.Errorf("raised to what was used: %v", err)
			}
			if _, err := d.g.ResolveStop(t.Context(), d.owner, stop, one.answer); err != nil {
				t.Fatal(err)
			}
			if one.goesOn {
				d.ack(d.bot, s.next())
			}
			d.g.ClaimNow(t.Context(), d.bot.ID)
			if len(s.turns) != 0 || d.waits(d.owner) != 0 {
				t.Errorf("%d turns, %d decisions are left", len(s.turns), d.waits(d.owner))
			}
			if _, err := d.g.ResolveStop(t.Context(), d.owner, stop, one.answer); !fault.Is(err, "already_decided") {
				t.Errorf("decided twice: %v", err)
			}
		})
	}
}

// TestS1_ARaisedBudgetAsksAgain: a limit that was raised and is used up on the same day
// too is another question, and so is one that is set again; there is one at a time.
func TestS1_ARaisedBudgetAsksAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	room := d.Room("direct", d.owner, d.bot)
	limit := func(n int64) {
		t.Helper()
		if _, err := d.g.SetBudget(t.Context(), d.owner, d.bot.ID, n); err != nil {
			t.Fatal(err)
		}
	}
	raise := func(stop id.BudgetStop, to int64) {
		t.Helper()
		if _, err := d.g.ResolveStop(t.Context(), d.owner, stop, flow.BudgetAnswer{Decision: "raise", TokensPerDay: to}); err != nil {
			t.Fatal(err)
		}
	}
	limit(1000)
	s := d.join(d.bot, d.ex)
	d.spend(d.bot, 1000)
	first := d.stopOf(d.bot)
	d.Say(d.owner, room, "one")
	raise(first, 2000)
	d.ack(d.bot, s.next())

	d.spend(d.bot, 1000)
	second := d.stopOf(d.bot)
	if second == first {
		t.Fatal("the answered question is asked again")
	}
	limit(500) // still over: it is asked already
	d.g.ClaimNow(t.Context(), d.bot.ID)
	if d.waits(d.owner) != 1 {
		t.Errorf("%d questions wait", d.waits(d.owner))
	}
	d.Say(d.owner, room, "two")
	raise(second, 3000)
	d.ack(d.bot, s.next())

	limit(1000) // below what was used, and answered before: now it is asked anew
	d.g.ClaimNow(t.Context(), d.bot.ID)
	if third := d.stopOf(d.bot); d.waits(d.owner) != 1 {
		t.Errorf("%d questions wait, %v", d.waits(d.owner), third)
	}
}

// TestS1_TheStopIsSeenAtOnce: who uses up the day is asked about then, not when the next
// message comes; each room that waits later is told once.
func TestS1_TheStopIsSeenAtOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	room, other := d.Room("direct", d.owner, d.bot), d.Room("group", d.owner, d.bot)
	if _, err := d.g.SetBudget(t.Context(), d.owner, d.bot.ID, 1000); err != nil {
		t.Fatal(err)
	}
	s := d.join(d.bot, d.ex)
	d.Say(d.owner, room, "first")
	running := s.next()
	d.spend(d.bot, 1000)
	d.stopOf(d.bot)
	if d.waits(d.owner) != 1 {
		t.Error("the inbox does not show it")
	}
	if len(s.commands) != 0 {
		t.Error("a running turn was stopped")
	}
	d.ack(d.bot, running)
	told := `SELECT count(*) FROM messages WHERE metadata->>'code' = 'budget_stopped' AND conversation_id = $1`
	for range 2 {
		d.Say(d.owner, room, "second")
		d.until(1, told, room)
	}
	d.Say(d.owner, other, "@%s hello", d.bot.DisplayName)
	d.until(1, told, other)
	d.g.ClaimNow(t.Context(), d.bot.ID)
	if n := d.Count(`SELECT count(*)::int FROM messages WHERE metadata->>'code' = 'budget_stopped'`); n != 2 {
		t.Errorf("%d notices", n)
	}
	if len(s.turns) != 0 {
		t.Error("it goes on without tokens")
	}
}

// TestS1_ARunOfATaskStopsAtItsNextReport: a run that goes on when the day is used up is
// parked when it reports, without an attempt, and goes on when its owner says so. One that
// is done by then is done.
func TestS1_ARunOfATaskStopsAtItsNextReport(t *testing.T) {
	t.Parallel()
	d := newTaskDesk(t)
	room := d.Room("direct", d.owner, d.bot)
	if _, err := d.g.SetBudget(t.Context(), d.owner, d.bot.ID, 1000); err != nil {
		t.Fatal(err)
	}
	s := d.join(d.bot, d.ex)
	v := d.bench.ask(d.owner, room, "Count", d.bot)
	first := s.nextTask()
	d.accept(d.bot, first)
	if err := d.k.Report(t.Context(), d.bot, heldTask(first), flow.Progress{Step: "one"}); err != nil {
		t.Fatal(err)
	}
	d.spend(d.bot, 1000)
	stop := d.stopOf(d.bot)
	if _, err := d.k.ClaimStep(t.Context(), d.bot, heldTask(first)); !errors.Is(err, task.ErrLost) {
		t.Errorf("another step: %v", err)
	}
	if err := d.k.Report(t.Context(), d.bot, heldTask(first), flow.Progress{Step: "two"}); err == nil {
		t.Error("it goes on")
	}
	if c := receive(t, "command", s.commands); c.Type != "stop_task" || c.TaskID != v.ID || c.Reason != "budget" {
		t.Errorf("the bridge is told %+v", c)
	}
	if got := d.task(v.ID); got.Status != task.Pending {
		t.Errorf("the task is %s", got.Status)
	}
	d.until(1, `SELECT count(*) FROM messages m JOIN tasks t ON t.work_conversation_id = m.conversation_id WHERE m.metadata->>'code' = 'budget_stopped' AND t.id = $1`, v.ID)
	if _, err := d.g.ResolveStop(t.Context(), d.owner, stop, flow.BudgetAnswer{Decision: "continue"}); err != nil {
		t.Fatal(err)
	}
	again := s.nextTask()
	if again.Claim.Attempt != first.Claim.Attempt {
		t.Errorf("attempt %d after %d", again.Claim.Attempt, first.Claim.Attempt)
	}
	d.accept(d.bot, again)
	if err := d.k.Report(t.Context(), d.bot, heldTask(again), flow.Progress{Step: "two"}); err != nil {
		t.Errorf("it may go on today: %v", err)
	}
	if _, err := d.g.SetBudget(t.Context(), d.owner, d.bot.ID, 1); err != nil { // its stop of today was decided
		t.Fatal(err)
	}
	if _, err := d.DB.Exec(t.Context(), `UPDATE budget_stops SET status = 'kept'`); err != nil {
		t.Fatal(err)
	}
	if got, err := d.k.CompleteRun(t.Context(), d.bot, flow.TaskCompletion{HeldClaim: heldTask(again), Outcome: "done", Result: flow.TaskResult{Response: "Three."}}); err != nil || got != task.Complete {
		t.Errorf("what is done counts: %s, %v", got, err)
	}
}

// TestS1_ABudgetSurvivesARestartAndADay: a budget holds after a restart; the next day
// is new.
func TestS1_ABudgetSurvivesARestartAndADay(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(2, false)
	if _, err := b.g.SetBudget(t.Context(), ada, bot.ID, 10); err != nil {
		t.Fatal(err)
	}
	b.spend(bot, 10)
	b.reboot()
	s := b.join(bot, ex)
	b.Say(ada, room, "hello")
	b.stopOf(bot)
	if len(s.turns) != 0 {
		t.Fatal("the restart gave it tokens")
	}
	if _, err := b.DB.Exec(t.Context(), `UPDATE usage_records SET inserted_at = inserted_at - interval '1 day'`); err != nil {
		t.Fatal(err)
	}
	b.g.Wake(bot.ID)
	b.ack(bot, s.next())
	if got, err := b.g.Budget(t.Context(), ada, bot.ID); err != nil || got.Used != 0 || !got.EndsAt.After(time.Now()) {
		t.Errorf("budget %+v, %v", got, err)
	}
}

// TestK3_AnAgentAsksForAMember: an agent brings nobody in; the administrators of the
// room are asked, the first decision stands, and the agent reads it there.
func TestK3_AnAgentAsksForAMember(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	third := d.Person("Tove")
	c := flow.ToolCaller{Agent: d.bot, Person: d.owner, Room: d.room}
	r, err := d.s.AskMember(t.Context(), c, d.room, third.ID, "She knows the sails.")
	if err != nil || len(r.Approvers) != 1 || r.Approvers[0] != d.owner.ID {
		t.Fatalf("asked: %+v, %v", r, err)
	}
	if _, err := d.s.AskMember(t.Context(), c, d.room, third.ID, ""); !fault.Is(err, approval.ErrAsked.Code) {
		t.Errorf("asked twice: %v", err)
	}
	if _, err := d.s.AskMember(t.Context(), c, d.room, d.peer.ID, ""); !fault.Is(err, "already_member") {
		t.Errorf("asked for a member: %v", err)
	}
	if _, err := d.s.AskMember(t.Context(), flow.ToolCaller{Agent: d.other, Person: d.peer, Room: d.room}, d.room, third.ID, ""); err == nil {
		t.Error("an agent that does not sit there asks")
	}
	list, err := d.s.Decisions(t.Context(), d.owner)
	if err != nil || len(list) != 1 || list[0].Kind != "member_request" || list[0].Label != third.DisplayName || list[0].Description == "" {
		t.Errorf("the inbox has %+v, %v", list, err)
	}
	if _, err := d.s.ResolveMember(t.Context(), d.peer, r.ID, true); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a member without the right decides: %v", err)
	}
	if n := d.Count(`SELECT count(*) FROM conversation_members WHERE conversation_id = $1 AND participant_id = $2`, d.room, third.ID); n != 0 {
		t.Fatal("they sit there before anybody decided")
	}
	out, err := d.s.ResolveMember(t.Context(), d.owner, r.ID, true)
	if err != nil || out.Status != approval.Approved {
		t.Fatalf("decided: %+v, %v", out, err)
	}
	if n := d.Count(`SELECT count(*) FROM conversation_members WHERE conversation_id = $1 AND participant_id = $2`, d.room, third.ID); n != 1 {
		t.Error("they have no seat")
	}
	if _, err := d.s.ResolveMember(t.Context(), d.owner, r.ID, false); !fault.Is(err, approval.ErrDecided.Code) {
		t.Errorf("decided twice: %v", err)
	}
	d.say()
	if n := d.Count(`SELECT count(*) FROM messages WHERE conversation_id = $1 AND content LIKE '%is in this room now%'`, d.room); n != 1 {
		t.Errorf("the agent was told %d times", n)
	}
	fourth := d.Person("Uma")
	late, err := d.s.AskMember(t.Context(), c, d.room, fourth.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.DB.Exec(t.Context(), `UPDATE member_requests SET expires_at = now() - interval '1 second' WHERE id = $1`, late.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := d.s.ResolveMember(t.Context(), d.owner, late.ID, true); !fault.Is(err, approval.ErrExpired.Code) {
		t.Errorf("decided too late: %v", err)
	}
	if err := d.s.ExpireDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := d.Count(`SELECT count(*) FROM member_requests WHERE status = 'expired'`); n != 1 {
		t.Errorf("%d are expired", n)
	}
}

// TestK3_AMemberIsLetInByTheDecisionThatStands: a yes that comes second gives no seat.
func TestK3_AMemberIsLetInByTheDecisionThatStands(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	c := flow.ToolCaller{Agent: d.bot, Person: d.owner, Room: d.room}
	for range 12 {
		who := d.Person("Tove")
		r, err := d.s.AskMember(t.Context(), c, d.room, who.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		errs := make(chan error, 2)
		for _, yes := range []bool{true, false} {
			go func() {
				_, err := d.s.ResolveMember(t.Context(), d.owner, r.ID, yes)
				errs <- err
			}()
		}
		first, second := <-errs, <-errs
		if (first == nil) == (second == nil) || !fault.Is(cmp.Or(first, second), approval.ErrDecided.Code) {
			t.Fatalf("two decisions: %v, %v", first, second)
		}
		if n := d.Count(`SELECT count(*) FROM member_requests r WHERE r.id = $1 AND (r.status = 'approved') = EXISTS (SELECT FROM conversation_members m
			WHERE m.conversation_id = r.conversation_id AND m.participant_id = r.participant_id)`, r.ID); n != 1 {
			t.Fatal("the seat does not follow the decision")
		}
	}
}
