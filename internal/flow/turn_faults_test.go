package flow_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/executor"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/turn"
)

// The tests here kill or lose something at the point that a decision is about.

// Decision 13: the server dies after the claim and before anybody confirmed it.
func TestP2_ServerDiesBetweenClaimAndPush(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	m := b.Say(ada, room, "hello").Message
	first := s.next()
	b.reboot()
	if got := b.state(bot, m); got != "accepted" {
		t.Fatalf("state %s after the restart", got)
	}
	d := b.join(bot, ex).next()
	if d.Claim.QueueID != first.Claim.QueueID || d.Claim.Generation != first.Claim.Generation+1 || d.Claim.Attempt != 1 {
		t.Fatalf("claimed again as %+v", d.Claim)
	}
	b.reply(bot, d, "hi")
	if out := b.ack(bot, d); out != turn.Answered {
		t.Fatalf("outcome %s", out)
	}
}

// Decision 13: a seen claim survives the restart of the server and the reconnect
// of its bridge, whose executor id stays valid (row B3).
func TestB3_SeenClaimSurvivesRestartAndReconnect(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	b.Say(ada, room, "hello")
	d := s.next()
	b.touch(bot, d)
	b.reboot()
	if !b.g.Online(bot.ID) {
		t.Fatal("an agent whose heartbeat is fresh looks offline after the restart")
	}
	s = b.join(bot, ex)
	s.leave()
	s = b.join(bot, ex)
	s.idle()
	b.reply(bot, d, "hi")
	if out := b.ack(bot, d); out != turn.Answered {
		t.Fatalf("outcome %s", out)
	}
}

// Decision 13: the socket ends before anybody confirmed; and the push that fails.
func TestP5_UnconfirmedGoesBackWhenItsSocketEnds(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	dead := b.socket(bot, ex)
	dead.fail = true
	if _, err := b.g.ReviveExecutor(t.Context(), bot, ex, "", ""); err != nil {
		t.Fatal(err)
	}
	m := b.Say(ada, room, "hello").Message
	b.g.AddSocket(bot, ex, dead)
	receive(t, "end of the socket whose push failed", dead.shut)
	if got := b.state(bot, m); got != "accepted" {
		t.Fatalf("state %s after the push failed", got)
	}
	other := b.register(bot, "other", "i", 1, false)
	s := b.join(bot, ex)
	s.next()
	s.leave()
	d := b.join(bot, other).next()
	if d.Claim.ExecutorID != other || d.Claim.Attempt != 1 {
		t.Fatalf("claimed again as %+v", d.Claim)
	}
	if _, err := b.g.Ack(t.Context(), bot, flow.HeldClaim{QueueID: d.Claim.QueueID, ExecutorID: ex}); !fault.Is(err, "executor_not_owned") {
		t.Fatalf("the ack of the lost claim: %v", err)
	}
}

// Row P5: a bridge dies in mid-turn; its lease ends, another executor gets the
// item, and the late ack and reply of the first are refused.
func TestP5_LapsedClaimGoesToAnotherExecutor(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, true)
	s := b.join(bot, ex)
	m := b.Say(ada, room, "hello").Message
	d := s.next()
	b.touch(bot, d)
	s.leave()
	if got := b.state(bot, m); got != "working" {
		t.Fatalf("state %s: a confirmed claim outlives its socket", got)
	}
	b.lapse()
	other := b.register(bot, "other", "i", 1, true)
	again := b.join(bot, other).next()
	if again.Claim.QueueID != d.Claim.QueueID || again.Claim.Attempt != 2 {
		t.Fatalf("claimed again as %+v", again.Claim)
	}
	late := flow.Completion{HeldClaim: fenced(d), Outcome: turn.Answered, Reply: &flow.Post{Content: "late"}}
	if _, err := b.g.Complete(t.Context(), bot, late); !fault.Is(err, "executor_not_owned") {
		t.Fatalf("the late reply: %v", err)
	}
	if err := b.g.Touch(t.Context(), bot.ID, room, &d.Claim.QueueID, &d.Claim.Generation); !fault.Is(err, "executor_not_owned") {
		t.Fatalf("the late stream frame: %v", err)
	}
	late.HeldClaim = fenced(again)
	late.Reply.Content = "in time"
	if _, err := b.g.Complete(t.Context(), bot, late); err != nil {
		t.Fatal(err)
	}
	if n := b.Count(`SELECT count(*)::int FROM messages WHERE sender_id = $1::uuid`, bot.ID); n != 1 {
		t.Fatalf("%d replies", n)
	}
}

// Decision 14: the bridge dies between its reply and its ack.
func TestP5_AnsweredClaimIsClosedNotDeliveredAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	m := b.Say(ada, room, "hello").Message
	d := s.next()
	b.reply(bot, d, "hi")
	s.leave()
	b.lapse()
	b.until(0, `SELECT count(*)::int FROM queued_messages`)
	if got := b.state(bot, m); got != "answered" {
		t.Fatalf("state %s", got)
	}
	b.join(bot, ex).idle()
	if out := b.ack(bot, d); out != turn.Answered { // the same executor's late ack is harmless
		t.Fatalf("late ack: %s", out)
	}
}

// Decision 14 once more: the server dies between reply and ack.
func TestP5_AnsweredClaimSurvivesTheServersDeath(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	b.Say(ada, room, "hello")
	d := s.next()
	b.reply(bot, d, "hi")
	b.reboot()
	s = b.join(bot, ex)
	s.idle()
	if out := b.ack(bot, d); out != turn.Answered {
		t.Fatalf("outcome %s", out)
	}
}

// Decision 15: a duplicate is acked without a run, and the reply still comes.
func TestP5_LateReplySettlesUnanswered(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	m := b.Say(ada, room, "hello").Message
	d := s.next()
	if out := b.ack(bot, d); out != turn.Unanswered {
		t.Fatalf("outcome %s", out)
	}
	if got := b.meta(m, "not_answered"); !strings.Contains(got, `"Nova"`) || b.state(bot, m) != "unanswered" {
		t.Fatalf("not shown: %s", got)
	}
	b.reply(bot, d, "here it is")
	if got := b.meta(m, "not_answered"); got != "" || b.state(bot, m) != "answered" {
		t.Fatalf("still shown: %s, %s", got, b.state(bot, m))
	}
}

// Decision 15: a reply that comes after the claim went back settles the row, which
// is not delivered again.
func TestP5_ReplyAfterTheClaimWentBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	m := b.Say(ada, room, "hello").Message
	d := s.next()
	b.touch(bot, d)
	s.leave()
	b.lapse()
	b.until(1, `SELECT count(*)::int FROM queued_messages WHERE lease_until IS NULL`)
	b.reply(bot, d, "after all")
	if got := b.state(bot, m); got != "answered" {
		t.Fatalf("state %s", got)
	}
	b.join(bot, ex).idle()
}

// Decision 16: a new process takes over; the old one's sockets are told and
// closed, then its claims go back.
func TestB3_NewInstanceTakesOver(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(2, false)
	old := b.join(bot, ex)
	b.Say(ada, room, "hello")
	d := old.next()
	b.touch(bot, d)
	if again := b.register(bot, "k", "i-2", 2, false); again != ex {
		t.Fatal("the same agent and key got another id")
	}
	if c := receive(t, "command", old.commands); c.Type != "shutdown" {
		t.Fatalf("command %+v", c)
	}
	receive(t, "close", old.shut)
	if _, err := b.g.Ack(t.Context(), bot, held(d)); !fault.Is(err, "executor_not_owned") {
		t.Fatalf("ack of the old process: %v", err)
	}
	if superseded, err := b.g.Deregister(t.Context(), bot, ex, "i-1"); err != nil || !superseded {
		t.Fatalf("the old process deregisters: %v, %v", superseded, err)
	}
	if _, err := b.g.ReviveExecutor(t.Context(), bot, ex, "i-1", ""); !fault.Is(err, "superseded") {
		t.Fatalf("the old process joins: %v", err)
	}
	if next := b.join(bot, ex).next(); next.Claim.QueueID != d.Claim.QueueID {
		t.Fatal("the work did not go to the new process")
	}
}

// The same instance that registers again keeps what it works on.
func TestB3_SameInstanceKeepsItsWork(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	b.Say(ada, room, "hello")
	d := s.next()
	b.touch(bot, d)
	b.register(bot, "k", "i-1", 1, false)
	b.reply(bot, d, "hi")
	if out := b.ack(bot, d); out != turn.Answered {
		t.Fatalf("outcome %s", out)
	}
}

// Row B3: silence takes an executor offline and gives its work back at once; a
// heartbeat revives it.
func TestB3_SilenceIsOffline(t *testing.T) {
	t.Parallel()
	cfg := quick
	cfg.ExecutorTimeout = 500 * time.Millisecond
	b := newBench(t, cfg)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	m := b.Say(ada, room, "hello").Message
	d := s.next()
	b.touch(bot, d)
	if !b.g.Online(bot.ID) {
		t.Fatal("a joined socket is not silence")
	}
	s.leave()
	b.until(1, `SELECT count(*)::int FROM executors WHERE status = 'offline'`)
	b.until(1, `SELECT count(*)::int FROM queued_messages WHERE lease_until IS NULL`)
	if got := b.state(bot, m); got != "accepted" || b.g.Online(bot.ID) {
		t.Fatalf("state %s, online %v", got, b.g.Online(bot.ID))
	}
	if _, err := b.g.Heartbeat(t.Context(), bot, id.New[id.Executor](), flow.Beat{}); !fault.Is(err, "executor_not_found") {
		t.Fatalf("an unknown id: %v", err)
	}
	if _, err := b.g.Heartbeat(t.Context(), bot, ex, flow.Beat{}); err != nil {
		t.Fatal(err)
	}
	if next := b.join(bot, ex).next(); next.Message.ID != m.ID {
		t.Fatal("the work did not come back")
	}
}

// A heartbeat that names a claim keeps it; what it names wrongly is lost.
func TestP5_HeartbeatExtendsWhatItNames(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, true)
	s := b.join(bot, ex)
	m := b.Say(ada, room, "hello").Message
	d := s.next()
	gone := id.New[id.QueueItem]().String()
	out, err := b.g.Heartbeat(t.Context(), bot, ex, flow.Beat{Claims: []flow.NamedTurn{
		{QueueID: d.Claim.QueueID.String(), Generation: d.Claim.Generation}, {QueueID: gone, Generation: 1},
	}})
	if err != nil || len(out.Lost) != 1 || out.Lost[0] != gone {
		t.Fatalf("lost %v, %v", out.Lost, err)
	}
	if got := b.state(bot, m); got != "working" {
		t.Fatalf("state %s", got)
	}
	out, err = b.g.Heartbeat(t.Context(), bot, ex, flow.Beat{Claims: []flow.NamedTurn{{QueueID: d.Claim.QueueID.String(), Generation: d.Claim.Generation + 1}}})
	if err != nil || len(out.Lost) != 1 {
		t.Fatalf("a wrong generation: %v, %v", out.Lost, err)
	}
	if n := b.Count(`SELECT count(*)::int FROM queued_messages WHERE lease_until > now() + interval '50 seconds' AND seen_at IS NOT NULL`); n != 1 {
		t.Fatal("the lease was not renewed")
	}
}

func TestP5_StockHeartbeatNamesTheMessage(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	m := b.Say(ada, room, "hello").Message
	d := s.next()
	for _, name := range []string{d.Claim.QueueID.String(), m.ID.String()} {
		if _, err := b.g.Heartbeat(t.Context(), bot, ex, flow.Beat{Activity: "processing_message:" + name}); err != nil {
			t.Fatal(err)
		}
		if got := b.state(bot, m); got != "working" {
			t.Fatalf("state %s after %s", got, name)
		}
	}
}

// A message that kills its bridge every time is given up where people see it.
func TestP5_AttemptsEndVisibly(t *testing.T) {
	t.Parallel()
	cfg := quick
	cfg.MaxAttempts = 2
	b := newBench(t, cfg)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	m := b.Say(ada, room, "poison").Message
	for range 2 {
		b.touch(bot, s.next())
		b.lapse()
		b.until(0, `SELECT count(*)::int FROM queued_messages WHERE lease_until < now()`)
	}
	b.until(0, `SELECT count(*)::int FROM queued_messages`)
	if got := b.state(bot, m); got != "failed" || !strings.Contains(b.meta(m, "not_answered"), "attempts_exhausted") {
		t.Fatalf("state %s, %s", got, b.meta(m, "not_answered"))
	}
}

// The hard end of a claim counts although it keeps giving signs.
func TestP5_NoTurnIsForEver(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	b.Say(ada, room, "hello")
	b.touch(bot, s.next())
	if _, err := b.DB.Exec(t.Context(), `UPDATE queued_messages SET claimed_at = now() - interval '11 minutes'`); err != nil {
		t.Fatal(err)
	}
	if again := s.next(); again.Claim.Attempt != 2 {
		t.Fatalf("claimed again as %+v", again.Claim)
	}
}

// Decision 18 at the gateway: one refusal, nothing stored, the claim lives on.
func TestP7_StaleDraftOfOurBridge(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, true)
	s := b.join(bot, ex)
	b.Say(ada, room, "hello")
	d := s.next()
	m2 := b.Say(ada, room, "no, wait").Message
	in := flow.Completion{HeldClaim: fenced(d), Outcome: turn.Answered, Reply: &flow.Post{Content: "hi", LastSeenMessageID: &d.LatestSeen}}
	_, err := b.g.Complete(t.Context(), bot, in)
	stale, ok := flow.IsStale(err)
	if !ok || len(stale.NewMessages) != 1 || stale.NewMessages[0].ID != m2.ID {
		t.Fatalf("first draft: %v", err)
	}
	if n := b.Count(`SELECT count(*)::int FROM messages WHERE sender_id = $1::uuid`, bot.ID); n != 0 {
		t.Fatal("a stale draft was stored")
	}
	if out, err := b.g.Complete(t.Context(), bot, in); err != nil || out.Message == nil {
		t.Fatalf("second draft: %v", err)
	}
	if d = s.next(); d.Message.ID != m2.ID {
		t.Fatal("the newer message got no turn")
	}
}

// A stock bridge drops a stale draft and acks: the newer message covers both.
func TestP7_DroppedDraftIsMergedIntoTheNextTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	m1 := b.Say(ada, room, "hello").Message
	d := s.next()
	m2 := b.Say(ada, room, "no, wait").Message
	_, err := b.Chat.Post(t.Context(), bot, flow.Post{ConversationID: room, Content: "hi", LastSeenMessageID: &d.LatestSeen, Metadata: json.RawMessage(`{"stream_id":"s"}`)})
	if _, ok := flow.IsStale(err); !ok {
		t.Fatalf("draft: %v", err)
	}
	if out := b.ack(bot, d); out != turn.Merged {
		t.Fatalf("outcome %s", out)
	}
	next := s.next()
	b.reply(bot, next, "hi to both")
	b.ack(bot, next)
	rs, err := b.g.Receipts(t.Context(), ada, room, []id.Message{m1.ID, m2.ID})
	if err != nil || len(rs) != 2 || rs[0].MergedInto != m2.ID || rs[1].State != "answered" {
		t.Fatalf("receipts %+v, %v", rs, err)
	}
}

// A drain gives work back without an attempt.
func TestP5_ReleaseCostsNoAttempt(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, true)
	s := b.join(bot, ex)
	b.Say(ada, room, "hello")
	d := s.next()
	b.touch(bot, d)
	if err := b.g.Release(t.Context(), bot, fenced(d)); err != nil {
		t.Fatal(err)
	}
	again := s.next()
	if again.Claim.Attempt != 1 || again.Claim.Generation != d.Claim.Generation+1 {
		t.Fatalf("claimed again as %+v", again.Claim)
	}
	if err := b.g.Release(t.Context(), bot, fenced(d)); !fault.Is(err, "executor_not_owned") {
		t.Fatalf("a second release: %v", err)
	}
}

// Each executor belongs to one agent, each claim to one executor.
func TestP5_OthersCannotTouchAClaim(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	eve := b.Agent(b.Person("Eve"), "Mallory")
	s := b.join(bot, ex)
	b.Say(ada, room, "hello")
	d := s.next()
	if _, err := b.g.Ack(t.Context(), eve, held(d)); fault.KindOf(err) != fault.NotFound {
		t.Errorf("ack of another agent: %v", err)
	}
	if _, err := b.g.Heartbeat(t.Context(), eve, ex, flow.Beat{}); !fault.Is(err, "executor_not_found") {
		t.Errorf("heartbeat of another agent: %v", err)
	}
	if _, err := b.g.ReviveExecutor(t.Context(), eve, ex, "", ""); !fault.Is(err, "executor_not_found") {
		t.Errorf("join of another agent: %v", err)
	}
	if _, err := b.g.Ack(t.Context(), ada, held(d)); fault.KindOf(err) != fault.Forbidden {
		t.Errorf("ack of a person: %v", err)
	}
	if _, err := b.g.RegisterExecutor(t.Context(), bot, executor.Registration{}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("empty registration: %v", err)
	}
}

// A turn that no frame can carry is given up where people see it, and does not
// stand in the way of the next.
func TestP5_UndeliverableEndsVisibly(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.socket(bot, ex)
	s.large = true
	m := b.Say(ada, room, "far too much").Message
	if _, err := b.g.ReviveExecutor(t.Context(), bot, ex, "", ""); err != nil {
		t.Fatal(err)
	}
	b.g.AddSocket(bot, ex, s)
	b.until(0, `SELECT count(*)::int FROM queued_messages`)
	if got := b.state(bot, m); got != "failed" || !strings.Contains(b.meta(m, "not_answered"), "undeliverable") {
		t.Fatalf("state %s, %s", got, b.meta(m, "not_answered"))
	}
	s.mu.Lock()
	s.large = false
	s.mu.Unlock()
	b.Say(ada, room, "less")
	s.next()
}
