package flow_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

// chaos drives one agent through kills of server, bridge and socket at every
// point of a turn, chosen by a seed.
type chaos struct {
	*bench
	rnd   *rand.Rand
	ada   access.Actor
	bot   access.Actor
	rooms []id.Conversation
	asked []view.Message
	ex    id.Executor
	s     *socket
	ours  bool
	lives int
	seen  map[id.Message]bool // by this process: a stock bridge acks a duplicate without running it (bridge contract 2.6)
}

// TestP5_EveryMessageCoveredByOneReply: whatever dies, every message is covered by
// exactly one reply, its own or that of the message it was merged into.
func TestP5_EveryMessageCoveredByOneReply(t *testing.T) {
	t.Parallel()
	for _, ours := range []bool{false, true} {
		seed := rand.Uint64()
		name := "stock"
		if ours {
			name = "ours"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Logf("seed %d", seed)
			cfg := quick
			cfg.MaxAttempts = 1000
			cfg.Poll, cfg.Sweep = 5*time.Millisecond, 5*time.Millisecond
			c := &chaos{bench: newBench(t, cfg), rnd: rand.New(rand.NewPCG(seed, 1)), ours: ours}
			c.run(60)
		})
	}
}

func (c *chaos) run(messages int) {
	c.ada = c.Person("Ada")
	c.bot = c.Agent(c.ada, "Nova")
	for range 3 {
		c.rooms = append(c.rooms, c.Room("group", c.ada, c.bot))
	}
	c.restartBridge()
	for len(c.asked) < messages {
		c.asked = append(c.asked, c.Say(c.ada, c.rooms[c.rnd.IntN(len(c.rooms))], "q").Message)
		c.trouble()
		c.work(5*time.Millisecond, true)
	}
	deadline := time.Now().Add(2 * patience)
	for c.Count(`SELECT count(*)::int FROM queued_messages`) > 0 {
		if time.Now().After(deadline) {
			c.t.Fatal("messages are left in the queue")
		}
		c.work(20*time.Millisecond, false)
		if c.rnd.IntN(10) == 0 {
			c.lapse() // what a killed process held
		}
	}
	c.check()
}

// trouble kills something between turns.
func (c *chaos) trouble() {
	switch c.rnd.IntN(12) {
	case 0:
		c.reboot()
		c.s = c.join(c.bot, c.ex)
	case 1:
		c.s.leave()
		c.s = c.join(c.bot, c.ex)
	case 2:
		c.restartBridge()
	case 3:
		c.lapse()
	case 4:
		c.s.mu.Lock()
		c.s.fail = true
		c.s.mu.Unlock()
		c.g.Wake(c.bot.ID)
		c.s.leave()
		c.s = c.join(c.bot, c.ex)
	}
}

// restartBridge is a kill -9 of the bridge and its next start.
func (c *chaos) restartBridge() {
	c.lives++
	c.seen = map[id.Message]bool{}
	c.ex = c.register(c.bot, "k", "i-"+string(rune('a'+c.lives%26))+time.Now().String(), 2, c.ours)
	c.s = c.join(c.bot, c.ex)
}

// work runs one turn, or dies in it.
func (c *chaos) work(wait time.Duration, mayDie bool) {
	var d flow.Delivery
	select {
	case d = <-c.s.turns:
	case <-time.After(wait):
		return
	}
	if c.seen[d.Message.ID] && !c.ours {
		c.ackLoose(d)
		return
	}
	c.seen[d.Message.ID] = true
	dies := func() bool { return mayDie && c.rnd.IntN(8) == 0 }
	if dies() { // between push and the first sign
		c.restartBridge()
		return
	}
	if err := c.g.Touch(c.t.Context(), c.bot.ID, d.Message.ConversationID, nil, nil); err != nil {
		c.t.Fatalf("touch: %v", err)
	}
	if dies() { // in the model run
		c.restartBridge()
		return
	}
	if c.ours {
		c.complete(d, dies)
		return
	}
	_, err := c.Chat.Post(c.t.Context(), c.bot, flow.Post{
		ConversationID: d.Message.ConversationID, Content: "re:" + d.Message.ID.String(), LastSeenMessageID: &d.LatestSeen,
		Metadata: json.RawMessage(`{"stream_id":"` + d.Claim.QueueID.String() + d.Claim.ClaimedAt.String() + `"}`),
	})
	if _, stale := flow.IsStale(err); err != nil && !stale {
		c.t.Fatalf("reply: %v", err)
	}
	if dies() { // between reply and ack
		c.restartBridge()
		return
	}
	c.ackLoose(d)
}

// ackLoose acks; a claim that is lost is only logged by a bridge.
func (c *chaos) ackLoose(d flow.Delivery) {
	c.t.Helper()
	if _, err := c.g.Ack(c.t.Context(), c.bot, held(d)); err != nil && !fault.Is(err, "executor_not_owned") {
		c.t.Fatalf("ack: %v", err)
	}
}

func (c *chaos) complete(d flow.Delivery, dies func() bool) {
	in := flow.Completion{HeldClaim: fenced(d), Outcome: turn.Answered, Reply: &flow.Post{Content: "re:" + d.Message.ID.String(), LastSeenMessageID: &d.LatestSeen}}
	for range 3 { // a stale draft is sent again, and an answer that was lost on the way is asked for again
		_, err := c.g.Complete(c.t.Context(), c.bot, in)
		if _, stale := flow.IsStale(err); stale || (err == nil && dies()) {
			continue
		}
		if err != nil && !fault.Is(err, "executor_not_owned") {
			c.t.Fatalf("complete: %v", err)
		}
		return
	}
}

func (c *chaos) check() {
	c.t.Helper()
	state := map[id.Message]view.Receipt{}
	for _, r := range c.rooms {
		var ids []id.Message
		for _, m := range c.asked {
			if m.ConversationID == r {
				ids = append(ids, m.ID)
			}
		}
		list, err := view.Receipts(c.t.Context(), c.DB, r, ids)
		if err != nil {
			c.t.Fatal(err)
		}
		for _, x := range list {
			state[x.MessageID] = x
		}
	}
	for _, m := range c.asked {
		covered, steps := state[m.ID], 0
		for covered.State == "merged" && steps < len(c.asked) {
			covered, steps = state[covered.MergedInto], steps+1
		}
		if covered.State != "answered" || covered.AnswerID.IsZero() {
			c.t.Errorf("message %s is %s, covered by one that is %q", m.ID, state[m.ID].State, covered.State)
			c.story(m)
		}
		if n := c.Count(`SELECT count(*)::int FROM messages WHERE sender_id = $1::uuid AND content = $2::text`, c.bot.ID, "re:"+m.ID.String()); n > 1 {
			c.t.Errorf("message %s has %d replies", m.ID, n)
		}
	}
}

// story tells what happened in the room of a message, for a run that failed.
func (c *chaos) story(m view.Message) {
	rows, err := c.DB.Query(c.t.Context(), `SELECT concat_ws(' ', m.seq, m.sender_kind, m.content, m.id, m.inserted_at, m.metadata->>'stream_id', '|', t.outcome, t.generation, t.attempt, t.started_at, t.ended_at, t.answer_id, t.merged_into)
		FROM messages m LEFT JOIN turns t ON t.message_id = m.id WHERE m.conversation_id = $1::uuid ORDER BY m.seq`, m.ConversationID)
	if err != nil {
		c.t.Fatal(err)
	}
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		c.t.Fatal(err)
	}
	for _, l := range lines {
		c.t.Log(l)
	}
}
