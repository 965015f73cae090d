package flow_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
	"github.com/agntchat/agntchat/internal/turn"
)

// TestM4_StatementsOfATurn counts what a post and a turn ask of the database, BEGIN
// and COMMIT too, and in how many round trips. What a room waits for is mostly this:
// a number that rises needs a reason, one that falls is to be written down here.
// The River job is a plain insert here, as it is one statement of River's.
func TestM4_StatementsOfATurn(t *testing.T) {
	t.Parallel()
	var rec pgtest.Statements
	b := newBench(t, flow.GatewayConfig{Sweep: time.Hour, Poll: time.Hour}, pgtest.Record(&rec))
	ada, bot, room, ex := b.couple(2, false)
	s := b.join(bot, ex)
	ourBot := b.Agent(ada, "Orion")
	ourRoom := b.Room("direct", ada, ourBot)
	our := b.join(ourBot, b.register(ourBot, "k", "i-2", 2, true))
	b.settle(bot)
	b.settle(ourBot)
	b.g.Stop() // its dispatchers: everything below happens when it is called
	b.Chat.Turns = b.Turns

	count := func(what string, statements, trips int, fn func()) {
		t.Helper()
		list, n := rec.Of(fn)
		list = slices.DeleteFunc(list, func(sql string) bool { return strings.HasPrefix(sql, "SET LOCAL") }) // of a pooler
		if len(list) != statements || n != trips {
			t.Errorf("%s: %d statements in %d round trips, want %d in %d:\n%s", what, len(list), n, statements, trips, strings.Join(list, "\n"))
		}
	}
	claim := func(s *socket) flow.Delivery {
		b.g.ClaimNow(t.Context(), s.agent.ID)
		return s.next()
	}
	b.Say(ada, room, "hello") // the directive is stored once
	b.ack(bot, claim(s))
	b.Say(ada, ourRoom, "hello")
	if _, err := b.g.Complete(t.Context(), ourBot, flow.Completion{HeldClaim: fenced(claim(our)), Outcome: turn.Passed}); err != nil {
		t.Fatal(err)
	}

	var d flow.Delivery
	count("a person's post", 8, 4, func() { b.Say(ada, room, "hello Nova") })
	count("claim and preparation", 15, 6, func() { d = claim(s) })
	count("a wake that finds nothing", 1, 1, func() { b.g.ClaimNow(t.Context(), bot.ID) })
	count("the job of a message that is claimed", 1, 1, func() {
		if err := b.g.Deliver(t.Context(), room, d.Message.ID); err != nil {
			t.Error(err)
		}
	})
	count("the first sign of life", 5, 4, func() { b.touch(bot, d) })
	count("a stream frame soon after", 0, 0, func() { b.touch(bot, d) })
	count("a reply", 9, 3, func() { b.reply(bot, d, "hi Ada") })
	count("an ack", 10, 4, func() { b.ack(bot, d) })

	b.Say(ada, ourRoom, "hello Orion")
	d = claim(our)
	count("a completion", 14, 6, func() {
		_, err := b.g.Complete(t.Context(), ourBot, flow.Completion{HeldClaim: fenced(d), Outcome: turn.Answered, Reply: &flow.Post{Content: "hi Ada"}})
		if err != nil {
			t.Error(err)
		}
	})
}
