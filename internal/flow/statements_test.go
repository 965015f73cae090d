package flow_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
)

func TestM4_StatementsOfATurn(t *testing.T) {
	t.Parallel()
	var rec pgtest.Statements
	b := newBench(t, flow.GatewayConfig{Sweep: time.Hour, Poll: time.Hour}, pgtest.Record(&rec))
	ada, bot, room, ex := b.couple(2, false)
	s := b.socket(bot, ex)
	b.settle(bot)
	if _, err := b.g.ReviveExecutor(t.Context(), bot, ex, "", ""); err != nil {
		t.Fatal(err)
	}
	b.g.AddSocket(bot, ex, s)
	b.settle(bot)
	show := func(what string, fn func()) {
		list, trips := rec.Of(fn)
		t.Logf("%s: %d in %d trips", what, len(list), trips)
		for _, l := range list {
			t.Log("    ", l[:min(len(l), 150)])
		}
	}
	b.Chat.Turns = b.World.Turns
	for range 2 {
		var p flow.Posted
		show("post", func() { p = b.Say(ada, room, "hello Nova") })
		show("deliver job", func() { _ = b.g.Deliver(t.Context(), room, p.Message.ID) })
		b.settle(bot)
		d := s.next()
		show("touch", func() { b.touch(bot, d) })
		show("tell", func() { b.g.TellNow(t.Context(), bot.ID) })
		show("reply", func() { b.reply(bot, d, "hi") })
		show("ack", func() { b.ack(bot, d); b.settle(bot) })
		show("tell", func() { b.g.TellNow(t.Context(), bot.ID) })
	}
	show("post", func() { b.Say(ada, room, "hello Nova") })
	show("claim", func() { b.g.ClaimNow(t.Context(), bot.ID) })
	show("claim none", func() { b.g.ClaimNow(t.Context(), bot.ID) })
	d := s.next()
	show("ack unanswered", func() { b.ack(bot, d) })
	_ = strings.TrimSpace
	_ = pg.Config{}
}
