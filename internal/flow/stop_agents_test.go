package flow_test

import (
	"math"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

// TestP6_StopOneAndAll: stop closes what runs and what waits, tells the bridges
// and marks the messages; a late ack is harmless.
func TestP6_StopOneAndAll(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada := b.Person("Ada")
	nova, vela := b.Agent(ada, "Nova"), b.Agent(ada, "Vela")
	room := b.Room("group", ada, nova, vela)
	sn, sv := b.join(nova, b.register(nova, "k", "i", 1, false)), b.join(vela, b.register(vela, "k", "i", 1, false))
	m := b.Say(ada, room, "@Nova @Vela hello").Message
	dn, dv := sn.next(), sv.next()
	b.touch(nova, dn)
	m2 := b.Say(ada, room, "@Nova and more").Message

	if _, stale, err := b.g.StopAgents(t.Context(), ada, room, id.Participant{}, &m.ID); err != nil || !stale {
		t.Fatalf("a stop that means an older state: stale %v, %v", stale, err)
	}
	n, stale, err := b.g.StopAgents(t.Context(), ada, room, vela.ID, nil)
	if err != nil || stale || n != 1 {
		t.Fatalf("stop one: %d, %v, %v", n, stale, err)
	}
	if c := receive(t, "command", sv.commands); c.Type != "stop_generation" || c.ConversationID != room {
		t.Fatalf("command %+v", c)
	}
	if out := b.ack(vela, dv); out != turn.Stopped {
		t.Fatalf("late ack: %s", out)
	}
	if n, _, err = b.g.StopAgents(t.Context(), ada, room, id.Participant{}, &m2.ID); err != nil || n != 1 {
		t.Fatalf("stop all: %d, %v", n, err)
	}
	if c := receive(t, "command", sn.commands); c.Type != "stop_generation" {
		t.Fatalf("command %+v", c)
	}
	for _, m := range []struct{ got, want string }{{b.state(nova, m), "stopped"}, {b.state(nova, m2), "stopped"}, {b.state(vela, m), "stopped"}} {
		if m.got != m.want {
			t.Errorf("state %s", m.got)
		}
	}
	if got := b.meta(m, "not_answered"); !strings.Contains(got, `"stopped"`) || !strings.Contains(got, "Nova") || !strings.Contains(got, "Vela") {
		t.Errorf("mark %s", got)
	}
	sn.idle()
	if _, _, err := b.g.StopAgents(t.Context(), b.Person("Eve"), room, id.Participant{}, nil); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a stranger stops: %v", err)
	}
}

// A turn that is stopped after its reply was stored stays answered.
func TestP6_StopKeepsAnAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	m := b.Say(ada, room, "hello").Message
	d := s.next()
	b.reply(bot, d, "hi")
	if _, _, err := b.g.StopAgents(t.Context(), ada, room, id.Participant{}, nil); err != nil {
		t.Fatal(err)
	}
	if got := b.state(bot, m); got != "answered" || b.meta(m, "not_answered") != "" {
		t.Fatalf("state %s, mark %s", got, b.meta(m, "not_answered"))
	}
}

// A message for an agent that is not here says so until a turn takes it.
func TestP2_WaitingIsShown(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada := b.Person("Ada")
	bot := b.Agent(ada, "Nova")
	room := b.Room("direct", ada, bot)
	m := b.Say(ada, room, "hello").Message
	for range 2 { // the job may run twice
		if err := b.g.Deliver(t.Context(), room, m.ID); err != nil {
			t.Fatal(err)
		}
	}
	if got := b.meta(m, "awaiting_agent"); !strings.Contains(got, bot.ID.String()) || !strings.Contains(got, "Nova") {
		t.Fatalf("mark %s", got)
	}
	s := b.join(bot, b.register(bot, "k", "i", 1, false))
	d := s.next()
	b.until(0, `SELECT count(*)::int FROM messages WHERE metadata ? 'awaiting_agent'`)
	b.reply(bot, d, "hi")
	b.ack(bot, d)
}

// What a member that leaves, a room that goes and a message that is deleted had to
// be answered ends with them.
func TestP2_WorkEndsWithWhatItIsAbout(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada := b.Person("Ada")
	bot := b.Agent(ada, "Nova")
	rooms := []id.Conversation{b.Room("group", ada, bot), b.Room("group", ada, bot), b.Room("group", ada, bot)}
	b.Say(ada, rooms[0], "leave")
	b.Say(ada, rooms[1], "gone")
	m := b.Say(ada, rooms[2], "deleted").Message
	if err := b.Chat.RemoveMember(t.Context(), ada, rooms[0], bot.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.Chat.DeleteConversation(t.Context(), ada, rooms[1]); err != nil {
		t.Fatal(err)
	}
	if err := b.Chat.DeleteMessage(t.Context(), ada, rooms[2], m.ID); err != nil {
		t.Fatal(err)
	}
	s := b.join(bot, b.register(bot, "k", "i", 3, false))
	s.idle()
	if n := b.Count(`SELECT count(*)::int FROM queued_messages`); n != 0 {
		t.Fatalf("%d rows are left", n)
	}
}

// Each way in which a turn of ours may end.
func TestP5_CompleteOutcomes(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, true)
	s := b.join(bot, ex)
	for _, tc := range []struct {
		in    flow.Completion
		state string
		mark  string
		posts int
	}{
		{flow.Completion{Outcome: turn.Passed}, "passed", "", 0},
		{flow.Completion{Outcome: turn.Unanswered}, "unanswered", "unanswered", 0},
		{flow.Completion{Outcome: turn.Stopped}, "stopped", "stopped", 0},
		{flow.Completion{Outcome: turn.Failed, ErrorCode: "auth_failure", ErrorMessage: "expired"}, "failed", "", 1},
		{flow.Completion{Outcome: turn.Answered, Reply: &flow.Post{Content: "hi"}, Usage: true, Tokens: turn.Tokens{Input: 10, Output: 2}, Model: "m", ToolNames: []string{"Bash", "Bash"}}, "answered", "", 1},
	} {
		before := b.Count(`SELECT count(*)::int FROM messages WHERE sender_id = $1::uuid`, bot.ID)
		m := b.Say(ada, room, "hello").Message
		d := s.next()
		for name, bad := range map[string]flow.Completion{
			"no generation": {HeldClaim: held(d), Outcome: turn.Passed}, "no outcome": {HeldClaim: fenced(d)}, "no reply": {HeldClaim: fenced(d), Outcome: turn.Answered},
			"unknown code": {HeldClaim: fenced(d), Outcome: turn.Failed, ErrorCode: "x"}, "negative": {HeldClaim: fenced(d), Outcome: turn.Passed, Tokens: turn.Tokens{Input: -1}},
			"empty reply": {HeldClaim: fenced(d), Outcome: turn.Answered, Reply: &flow.Post{}},
		} {
			if _, err := b.g.Complete(t.Context(), bot, bad); fault.KindOf(err) != fault.Invalid {
				t.Errorf("%s: %v", name, err)
			}
		}
		tc.in.HeldClaim = fenced(d)
		out, err := b.g.Complete(t.Context(), bot, tc.in)
		if err != nil || string(out.Outcome) != tc.state {
			t.Fatalf("%s: %+v, %v", tc.state, out, err)
		}
		if again, err := b.g.Complete(t.Context(), bot, tc.in); err != nil || again.Outcome != out.Outcome {
			t.Errorf("%s repeated: %+v, %v", tc.state, again, err)
		}
		if got := b.state(bot, m); got != tc.state {
			t.Errorf("state %s, want %s", got, tc.state)
		}
		if got := b.meta(m, "not_answered"); (tc.mark == "") != (got == "") || !strings.Contains(got, tc.mark) {
			t.Errorf("%s: mark %s", tc.state, got)
		}
		if n := b.Count(`SELECT count(*)::int FROM messages WHERE sender_id = $1::uuid`, bot.ID); n != before+tc.posts {
			t.Errorf("%s: %d posts", tc.state, n-before)
		}
	}
	if n := b.Count(`SELECT input_tokens::int FROM usage_records`); n != 10 {
		t.Errorf("usage %d", n)
	}
	if n := b.Count(`SELECT uses FROM cli_tool_uses`); n != 2 {
		t.Errorf("tool uses %d", n)
	}
	list, err := b.g.Turns(t.Context(), ada, bot.ID, view.Mark[id.Turn]{}, 10)
	if err != nil || len(list) != 5 || list[0].Outcome != "answered" || list[0].InputTokens != 10 || list[1].ErrorCode == nil {
		t.Fatalf("turns %+v, %v", list, err)
	}
	// Turns that ended at one moment, as those of one batch, are all on one of two pages.
	if _, err := b.DB.Exec(t.Context(), `UPDATE turns SET ended_at = $1`, list[0].EndedAt); err != nil {
		t.Fatal(err)
	}
	if list, err = b.g.Turns(t.Context(), ada, bot.ID, view.Mark[id.Turn]{}, 2); err != nil || len(list) != 2 {
		t.Fatalf("first page %d, %v", len(list), err)
	}
	below := view.Mark[id.Turn]{At: &list[1].EndedAt, ID: list[1].ID}
	if list, err = b.g.Turns(t.Context(), ada, bot.ID, below, 10); err != nil || len(list) != 3 {
		t.Fatalf("second page %d, %v", len(list), err)
	}
	if _, err := b.g.Turns(t.Context(), b.Person("Eve"), bot.ID, view.Mark[id.Turn]{}, 10); fault.KindOf(err) != fault.NotFound {
		t.Fatalf("a stranger's look: %v", err)
	}
}

// TestP5_NonsenseCostsNoAnswer: a character that no table takes, or a count beyond all
// measure, in what a bridge reports loses neither the answer nor the agent.
func TestP5_NonsenseCostsNoAnswer(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, true)
	if _, err := b.g.SetBudget(t.Context(), ada, bot.ID, 1_000_000_000_000); err != nil {
		t.Fatal(err)
	}
	s := b.join(bot, ex)
	absurd := turn.Tokens{Input: math.MaxInt64, Output: math.MaxInt64, CacheRead: math.MaxInt64, CacheWrite: math.MaxInt64}
	say := func(c flow.Completion, want string) {
		t.Helper()
		b.Say(ada, room, "hello")
		c.HeldClaim = fenced(s.next())
		out, err := b.g.Complete(t.Context(), bot, c)
		if err != nil || out.Message == nil || out.Message.Content != want && want != "" {
			t.Fatalf("%+v, %v", out, err)
		}
	}
	say(flow.Completion{Outcome: turn.Failed, ErrorCode: "model_error", ErrorMessage: "core\x00dump"}, "")
	say(flow.Completion{
		Outcome: turn.Answered, Reply: &flow.Post{Content: "It is\x00 four."}, Usage: true, Tokens: absurd, ToolCalls: math.MaxInt64, Iterations: math.MaxInt64,
		Model: "m\x00", Backend: "b\x00", ToolNames: []string{"x\x00"},
	}, "It is four.")
	if err := b.g.ReportUsage(t.Context(), bot, turn.Usage{Model: "m", Tokens: absurd}); err != nil {
		t.Fatal(err)
	}
	if u, err := b.g.UsageOf(t.Context(), ada, bot.ID, 30); err != nil || u.Input < 2 {
		t.Errorf("usage %+v, %v", u, err)
	}
	if got, err := b.g.Budget(t.Context(), ada, bot.ID); err != nil || !got.Over() {
		t.Errorf("budget %+v, %v", got, err)
	}
}

// TestP5_NonsenseCostsNoAnswerOfAStockBridge is the same for a bridge that posts and acks.
func TestP5_NonsenseCostsNoAnswerOfAStockBridge(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	m := b.Say(ada, room, "hello").Message
	d := s.next()
	absurd := turn.Tokens{Input: math.MaxInt64, Output: math.MaxInt64}
	for range 2 {
		if err := b.g.ReportUsage(t.Context(), bot, turn.Usage{Model: "m", Tokens: absurd}); err != nil {
			t.Fatal(err)
		}
	}
	posted, err := b.Chat.Post(t.Context(), bot, flow.Post{ConversationID: room, Content: "four\x00", Metadata: []byte(`{"stream_id":"s"}`)})
	if err != nil || posted.Message.Content != "four" {
		t.Fatalf("%+v, %v", posted, err)
	}
	b.ack(bot, d)
	if got := b.state(bot, m); got != "answered" {
		t.Errorf("state %s", got)
	}
}
