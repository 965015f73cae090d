package flow_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/turn"
)

// TestP3_WakeClaimsAndPushesOnce: a post is claimed and pushed with everything that
// a bridge needs, and the whole turn of a stock bridge leaves a receipt.
func TestP3_WakeClaimsAndPushesOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(2, false)
	s := b.join(bot, ex)
	first := b.Say(ada, room, "earlier").Message
	b.ack(bot, s.next())
	m := b.Say(ada, room, "hello Nova").Message
	d := s.next()
	if d.Message.ID != m.ID || d.Claim.ExecutorID != ex || d.Ours || len(d.Merged) != 0 {
		t.Fatalf("delivery %+v", d.Claim)
	}
	if n := len(d.Recent); n != 2 || d.Recent[0].ID != first.ID || d.Recent[1].ID != m.ID || d.LatestSeen != m.ID {
		t.Fatalf("history of %d, latest %v", n, d.LatestSeen)
	}
	if len(d.Directives.Prompt) == 0 || !d.Directives.HumanExpectsReply || len(d.Room.Members) != 2 {
		t.Fatalf("directives %+v", d.Directives)
	}
	if got := b.state(bot, m); got != "claimed" {
		t.Fatalf("state %s before a sign of life", got)
	}
	b.touch(bot, d)
	if got := b.state(bot, m); got != "working" {
		t.Fatalf("state %s while it streams", got)
	}
	b.reply(bot, d, "hi Ada")
	if got := b.state(bot, m); got != "answered" {
		t.Fatalf("state %s after the reply", got)
	}
	if out := b.ack(bot, d); out != turn.Answered {
		t.Fatalf("outcome %s", out)
	}
	if again := b.ack(bot, d); again != turn.Answered {
		t.Fatalf("a repeated ack: %s", again)
	}
	s.idle()
}

// TestP3_FiveConnectionsEachMessageOnce: an agent with five connections over two
// executors, under load, gets each message on exactly one of them; a room is
// worked on by one at a time and in order.
func TestP3_FiveConnectionsEachMessageOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada := b.Person("Ada")
	bot := b.Agent(ada, "Nova")
	const rooms, each = 6, 8
	var list []id.Conversation
	for range rooms {
		list = append(list, b.Room("group", ada, bot))
	}
	exA, exB := b.register(bot, "a", "i", 3, false), b.register(bot, "b", "i", 2, false)
	socks := []*socket{b.join(bot, exA), b.join(bot, exA), b.join(bot, exA), b.join(bot, exB), b.join(bot, exB)}

	var mu sync.Mutex
	got := map[id.Message]int{}
	busy := map[id.Conversation]bool{}
	last := map[id.Conversation]int64{}
	done := make(chan struct{}, rooms*each)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	for _, s := range socks {
		wg.Go(func() {
			for {
				var d flow.Delivery
				select {
				case <-stop:
					return
				case d = <-s.turns:
				}
				conv := d.Message.ConversationID
				mu.Lock()
				got[d.Message.ID]++
				if busy[conv] {
					t.Errorf("two turns at once in a room")
				}
				if d.Message.Seq <= last[conv] {
					t.Errorf("out of order: %d after %d", d.Message.Seq, last[conv])
				}
				busy[conv], last[conv] = true, d.Message.Seq
				mu.Unlock()
				b.touch(bot, d)
				mu.Lock()
				busy[conv] = false // before the ack: the next claim may come at once
				mu.Unlock()
				b.ack(bot, d)
				done <- struct{}{}
			}
		})
	}
	for n := range each {
		for _, r := range list {
			wg.Go(func() { b.Say(ada, r, "message %d", n) })
		}
	}
	for range rooms * each {
		receive(t, "finished turn", done)
	}
	close(stop)
	wg.Wait()
	for m, n := range got {
		if n != 1 {
			t.Errorf("message %s came %d times", m, n)
		}
	}
	if len(got) != rooms*each {
		t.Errorf("%d of %d messages came", len(got), rooms*each)
	}
}

// TestP3_SlotsAreTheLimit: an executor at its max_concurrent is left alone, and a
// slot that becomes free claims the next.
func TestP3_SlotsAreTheLimit(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada := b.Person("Ada")
	bot := b.Agent(ada, "Nova")
	for n := range 4 {
		b.Say(ada, b.Room("group", ada, bot), "room %d", n)
	}
	s := b.join(bot, b.register(bot, "k", "i", 2, false))
	one, _ := s.next(), s.next()
	s.idle()
	b.ack(bot, one)
	s.next()
	s.idle()
}

// TestP4_OfflineForAThousand: everything waits, comes in order and once.
func TestP4_OfflineForAThousand(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada := b.Person("Ada")
	bot := b.Agent(ada, "Nova")
	rooms := []id.Conversation{b.Room("group", ada, bot), b.Room("group", ada, bot), b.Room("group", ada, bot), b.Room("group", ada, bot)}
	total := 1000
	if testing.Short() {
		total = 100
	}
	var wg sync.WaitGroup
	for _, r := range rooms {
		wg.Go(func() {
			for n := range total / len(rooms) {
				b.Say(ada, r, "%d", n)
			}
		})
	}
	wg.Wait()
	s := b.join(bot, b.register(bot, "k", "i", 4, false))
	if _, err := b.g.Catchup(t.Context(), bot); err != nil {
		t.Fatal(err)
	}
	next := map[id.Conversation]int{}
	for range total {
		d := s.next()
		c := d.Message.ConversationID
		if want := fmt.Sprint(next[c]); d.Message.Content != want {
			t.Fatalf("got %s, want %s", d.Message.Content, want)
		}
		next[c]++
		b.ack(bot, d)
	}
	s.idle()
}

// TestP4_ItemsOfABacklogSeeOnlyWhatIsTheirs: history leaves out what waits for a
// turn of its own, and nothing in the room at claim time makes a draft stale.
func TestP4_ItemsOfABacklogSeeOnlyWhatIsTheirs(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(1, false)
	b.Say(ada, room, "one")
	b.Say(ada, room, "two")
	last := b.Say(ada, room, "three").Message
	s := b.join(bot, ex)
	d := s.next()
	if len(d.Recent) != 1 || d.LatestSeen != last.ID {
		t.Fatalf("first turn sees %d messages, latest %v", len(d.Recent), d.LatestSeen)
	}
	b.reply(bot, d, "answer one")
	b.ack(bot, d)
	if d = s.next(); len(d.Recent) != 3 || d.Recent[2].Content != "answer one" {
		t.Fatalf("second turn sees %d messages", len(d.Recent))
	}
	b.reply(bot, d, "answer two")
	if out := b.ack(bot, d); out != turn.Answered {
		t.Fatalf("outcome %s", out)
	}
}

// Ours answers what piled up in one turn; every message has its receipt.
func TestP3_MergedForOurBridge(t *testing.T) {
	t.Parallel()
	b := newBench(t, quick)
	ada, bot, room, ex := b.couple(2, true)
	m1 := b.Say(ada, room, "one").Message
	m2 := b.Say(ada, room, "two").Message
	s := b.join(bot, ex)
	d := s.next()
	if d.Message.ID != m2.ID || len(d.Merged) != 1 || d.Merged[0].Message.ID != m1.ID || d.Claim.Generation < 1 || !d.Ours {
		t.Fatalf("delivery %+v", d)
	}
	m3 := b.Say(ada, room, "three").Message
	if err := b.g.Deliver(t.Context(), room, m3.ID); err != nil {
		t.Fatal(err)
	}
	if h := receive(t, "hint", s.hints); h.MessageID != m3.ID {
		t.Fatalf("hint %+v", h)
	}
	s.idle()
	in := flow.Completion{HeldClaim: fenced(d), Outcome: turn.Answered, Reply: &flow.Post{Content: "both"}}
	out, err := b.g.Complete(t.Context(), bot, in)
	if err != nil || out.Message == nil || out.Outcome != turn.Answered {
		t.Fatalf("complete: %+v, %v", out, err)
	}
	if a, c := b.state(bot, m1), b.state(bot, m2); a != "merged" || c != "answered" {
		t.Fatalf("receipts %s, %s", a, c)
	}
	again, err := b.g.Complete(t.Context(), bot, in)
	if err != nil || again.Message == nil || again.Message.ID != out.Message.ID {
		t.Fatalf("repeated: %+v, %v", again, err)
	}
	if n := b.Count(`SELECT count(*)::int FROM messages WHERE sender_id = $1::uuid`, bot.ID); n != 1 {
		t.Fatalf("%d replies", n)
	}
	if d = s.next(); d.Message.ID != m3.ID {
		t.Fatalf("next turn answers %s", d.Message.Content)
	}
}
