package flow_test

import (
	"testing"

	"github.com/agntchat/agntchat/internal/turn"
)

// A reply answers one turn: a bridge that acks the next message without a reply
// does not get the credit of an answer that a turn has already, also when the
// next claim was made while that answer was on its way.
func TestP5_OneReplyAnswersOneTurn(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	b.Say(ada, room, "first")
	first := s.next()
	b.reply(bot, first, "the answer to the first")
	if got := b.ack(bot, first); got != turn.Answered {
		t.Fatalf("outcome %s", got)
	}
	b.Say(ada, room, "second")
	second := s.next()
	if _, err := b.DB.Exec(t.Context(), `UPDATE queued_messages SET claimed_at = now() - interval '1 minute'`); err != nil {
		t.Fatal(err)
	}
	if got := b.ack(bot, second); got != turn.Unanswered {
		t.Fatalf("the second was credited with the answer to the first: %s", got)
	}
}
