package flow_test

import (
	"strings"
	"testing"
	"time"
)

// An agent that is switched off answers nothing more: what it had is closed, and
// people see that nobody will answer. An active agent keeps what it has.
func TestP5_RetiredAgentLeavesNothingWaiting(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	done := make(chan string, 8)
	b.g.Finished = func(outcome string, _, _ time.Duration) { done <- outcome }
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	b.Say(ada, room, "running")
	d := s.next()
	b.touch(bot, d)
	waiting := b.Say(ada, room, "waiting")
	if err := b.g.Retire(t.Context(), bot.ID); err != nil {
		t.Fatal(err)
	}
	b.until(2, `SELECT count(*) FROM queued_messages`)
	if _, err := b.DB.Exec(t.Context(), `UPDATE participants SET status = 'deactivated' WHERE id = $1`, bot.ID); err != nil {
		t.Fatal(err)
	}
	for range 2 { // doing it twice changes nothing
		if err := b.g.Retire(t.Context(), bot.ID); err != nil {
			t.Fatal(err)
		}
	}
	b.until(0, `SELECT count(*) FROM queued_messages`)
	b.until(2, `SELECT count(*) FROM turns WHERE outcome = 'expired' AND error_code = 'agent_off'`)
	if c := receive(t, "command", s.commands); c.Type != "stop_generation" {
		t.Fatalf("command %+v", c)
	}
	if meta := b.meta(waiting.Message, "not_answered"); !strings.Contains(meta, "expired") {
		t.Fatalf("not_answered: %s", meta)
	}
	for range 2 {
		if got := receive(t, "finished turn", done); got != "expired" {
			t.Fatalf("outcome %s", got)
		}
	}
}
