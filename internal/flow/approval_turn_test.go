package flow_test

import (
	"testing"

	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/turn"
)

// TestS1_AKilledRunAsksOnce: a bridge dies between its question and the end of its turn;
// the turn runs again and asks the same. People see one question, and a decision that
// came in between counts for the run that is there.
func TestS1_AKilledRunAsksOnce(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	q := id.New[id.QueueItem]()
	in := func(run, cmd string, generation int64) flow.AskApproval {
		a := d.durable(run, "call-"+run, cmd)
		a.TurnID, a.TurnGeneration = q, generation
		return a
	}
	first := d.ask(in("run-1", "make", 1))
	second := d.ask(in("run-2", "make", 2))
	if second.ID == first.ID || d.state(first) != approval.Superseded || d.state(second) != approval.Pending || d.waits(d.owner) != 1 {
		t.Fatalf("first %s, second %s, %d questions", d.state(first), d.state(second), d.waits(d.owner))
	}
	// Nobody has the decision: its run is gone, and the third takes it.
	d.decide(second, yes)
	third := d.ask(in("run-3", "make", 3))
	if third.ID != second.ID || third.Status != approval.Approved {
		t.Fatalf("asked again: %s %s", third.ID, third.Status)
	}
	if n := d.Count(`SELECT count(*) FROM queued_approvals`); n != 0 {
		t.Errorf("%d decisions still wait for the run that is gone", n)
	}
	if _, err := d.s.Redeem(t.Context(), d.bot, third.ID, "Bash", command("make"), "k"); err != nil {
		t.Errorf("the decision is not good for the run that is there: %v", err)
	}
	// Another action is another question, also of the same turn.
	if other := d.ask(in("run-4", "make install", 4)); other.Status != approval.Pending {
		t.Errorf("another action is %s", other.Status)
	}
}

// TestS1_AnOrphanedQuestionEnds: the turn that runs again answers without the call: the
// question of the run that died is taken off people's list.
func TestS1_AnOrphanedQuestionEnds(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	room := d.Room("direct", d.owner, d.bot)
	s := d.join(d.bot, d.ex)
	d.Say(d.owner, room, "hello")
	first := s.next()
	in := d.durable("run", "call", "make")
	in.ConversationID, in.TurnID, in.TurnGeneration = room, first.Claim.QueueID, first.Claim.Generation
	a := d.ask(in)
	if err := d.s.ExpireDue(t.Context()); err != nil || d.state(a) != approval.Pending {
		t.Fatalf("ended while its turn runs: %v", err)
	}
	d.ex = d.register(d.bot, "k", "another process", 2, true)
	again := d.join(d.bot, d.ex).next()
	if again.Claim.QueueID != first.Claim.QueueID || again.Claim.Generation <= first.Claim.Generation {
		t.Fatalf("delivered again: %+v", again.Claim)
	}
	if _, err := d.g.Complete(t.Context(), d.bot, flow.Completion{HeldClaim: fenced(again), Outcome: turn.Passed}); err != nil {
		t.Fatal(err)
	}
	if err := d.s.ExpireDue(t.Context()); err != nil || d.state(a) != approval.Superseded {
		t.Errorf("after the turn it is %s, %v", d.state(a), err)
	}
}

// TestS1_AResumedRunIsATurnOfItsRoom: while the agent answers in a room no run of that
// room is resumed, and while one is resumed there no message is claimed (docs/protocol.md 9).
func TestS1_AResumedRunIsATurnOfItsRoom(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	room, other := d.Room("direct", d.owner, d.bot), d.room
	s := d.join(d.bot, d.ex)
	d.Say(d.owner, room, "hello")
	talk := s.next()
	in := d.durable("run", "call", "make")
	in.ConversationID = room
	d.decide(d.ask(in), yes)
	in = d.durable("run-b", "call", "make")
	in.ConversationID = other
	d.decide(d.ask(in), yes)
	if got := receive(t, "decision of another room", s.decisions); got.Approval.ConversationID != other {
		t.Fatal("a run was resumed beside a turn of its room")
	}
	d.g.ClaimNow(t.Context(), d.bot.ID)
	if len(s.decisions) != 0 {
		t.Fatal("a run was resumed beside a turn of its room")
	}
	if _, err := d.g.Complete(t.Context(), d.bot, flow.Completion{HeldClaim: fenced(talk), Outcome: turn.Passed}); err != nil {
		t.Fatal(err)
	}
	got := receive(t, "decision", s.decisions)
	d.Say(d.owner, room, "and now?")
	d.g.ClaimNow(t.Context(), d.bot.ID)
	if len(s.turns) != 0 {
		t.Fatal("a message was claimed beside a run of its room")
	}
	if err := d.s.Ack(t.Context(), d.bot, heldDecision(got), false); err != nil {
		t.Fatal(err)
	}
	s.next()
}

// TestS1_ADecisionIsGivenBackWhenPostgresReturns: a socket ends while the database
// cannot be reached; its decision goes to the next one without waiting for a lease.
func TestS1_ADecisionIsGivenBackWhenPostgresReturns(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	s := d.join(d.bot, d.ex)
	d.decide(d.ask(d.durable("run", "call", "make")), yes)
	got := receive(t, "decision", s.decisions)
	away := func(from, to string) {
		t.Helper()
		if _, err := d.DB.Exec(t.Context(), `ALTER TABLE `+from+` RENAME TO `+to); err != nil {
			t.Fatal(err)
		}
	}
	away("queued_approvals", "queued_away")
	d.g.LeaveExecutor(t.Context(), d.bot, d.ex, s)
	away("queued_away", "queued_approvals")
	again := receive(t, "decision", d.join(d.bot, d.ex).decisions)
	if again.Row.ID != got.Row.ID || again.Row.Generation != got.Row.Generation+1 {
		t.Errorf("given again: %+v", again.Row)
	}
}
