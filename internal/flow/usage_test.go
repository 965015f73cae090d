package flow_test

import (
	"testing"

	"github.com/agntchat/agntchat/internal/fault"
)

func TestK7_UsageShowsCacheHits(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	s := b.join(bot, ex)
	b.Say(ada, room, "hello")
	s.next()
	if _, err := b.DB.Exec(t.Context(), `INSERT INTO usage_records (agent_id, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, inserted_at)
		VALUES ($1::uuid, 100, 10, 800, 100, now()), ($1::uuid, 5000, 5000, 5000, 5000, now() - interval '40 days')`, bot.ID); err != nil {
		t.Fatal(err)
	}
	u, err := b.g.UsageOf(t.Context(), ada, bot.ID, 30)
	if err != nil || u.Requests != 1 || u.Input != 100 || u.CacheRead != 800 || u.CacheWrite != 100 || u.Output != 10 || len(u.Parts) != 1 || len(u.Parts[0].Hash) != 64 {
		t.Errorf("%+v %v", u, err)
	}
	if _, err := b.g.UsageOf(t.Context(), b.Person("Eve"), bot.ID, 30); fault.KindOf(err) != fault.NotFound {
		t.Errorf("a stranger looks: %v", err)
	}
}
