package turn_test

import (
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/pg/pgtest"
	"github.com/agntchat/agntchat/internal/turn"
)

// shop is an agent and a room with messages, in a transaction that is rolled back.
type shop struct {
	t     *testing.T
	tx    *pg.Tx
	q     *turn.Queue
	agent id.Participant
	room  id.Conversation
	seq   int
}

func open(t *testing.T) *shop {
	t.Helper()
	s := &shop{t: t, tx: pgtest.Tx(t), q: turn.NewQueue(time.Minute, time.Hour, ""), agent: id.New[id.Participant](), room: id.New[id.Conversation]()}
	owner, org := id.New[id.Participant](), id.New[id.Organization]()
	s.exec(`INSERT INTO participants (id, kind, display_name) VALUES ($1::uuid, 'human', 'Ada'), ($2::uuid, 'agent', 'Nova')`, owner, s.agent)
	s.exec(`INSERT INTO accounts (id, email) VALUES ($1::uuid, $2::text)`, owner, owner.String()+"@example.com")
	s.exec(`INSERT INTO organizations (id, name, is_personal, owner_id) VALUES ($1::uuid, 'P', true, $2::uuid)`, org, owner)
	s.exec(`INSERT INTO agents (id, owner_id, organization_id, key_prefix, key_hash) VALUES ($1::uuid, $2::uuid, $3::uuid, $4::text, '\x00'::bytea)`, s.agent, owner, org, s.agent.String())
	s.exec(`INSERT INTO conversations (id, type, organization_id) VALUES ($1::uuid, 'group', $2::uuid)`, s.room, org)
	return s
}

func (s *shop) exec(sql string, args ...any) {
	s.t.Helper()
	if _, err := s.tx.Exec(s.t.Context(), sql, args...); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shop) ask() id.Message {
	s.t.Helper()
	s.seq++
	m := id.New[id.Message]()
	s.exec(`INSERT INTO messages (id, conversation_id, seq, sender_kind, content) VALUES ($1::uuid, $2::uuid, $3::bigint, 'human', 'q')`, m, s.room, s.seq)
	if n := s.enqueue(m); n != 1 {
		s.t.Fatalf("enqueued %d", n)
	}
	return m
}

// enqueue tells how many rows are new.
func (s *shop) enqueue(m id.Message) int {
	s.t.Helper()
	var before, after int
	count := func(n *int) {
		if err := s.tx.QueryRow(s.t.Context(), `SELECT count(*) FROM queued_messages`).Scan(n); err != nil {
			s.t.Fatal(err)
		}
	}
	count(&before)
	var b pg.Batch
	item := turn.NewItem{AgentID: s.agent, ConversationID: s.room, MessageID: m}
	turn.AddEnqueue(&b, []turn.NewItem{item})
	turn.AddEnqueue(&b, []turn.NewItem{item, item}) // a list is as idempotent
	if err := pg.Run(s.t.Context(), s.tx, &b); err != nil {
		s.t.Fatal(err)
	}
	count(&after)
	return after - before
}

func (s *shop) claim(merge bool) []turn.Claim {
	s.t.Helper()
	groups, err := s.q.ClaimTx(s.t.Context(), s.tx, s.agent, id.New[id.Executor](), 4, merge)
	if err != nil || len(groups) != 1 {
		s.t.Fatalf("claimed %d turns, %v", len(groups), err)
	}
	return groups[0]
}

// field.md 7: one row per (agent, message), also when its turn is over.
func TestP2_OneTurnPerAgentAndMessage(t *testing.T) {
	t.Parallel()
	s := open(t)
	m := s.ask()
	if n := s.enqueue(m); n != 0 {
		t.Fatalf("while it waits: %d", n)
	}
	if err := turn.FinishTx(t.Context(), s.tx, s.claim(false), turn.Result{Outcome: turn.Answered}); err != nil {
		t.Fatal(err)
	}
	if n := s.enqueue(m); n != 0 {
		t.Fatalf("when it is over: %d", n)
	}
}

// A merged turn is marked, extended and finished as one.
func TestP3_MergedRowsShareTheirFate(t *testing.T) {
	t.Parallel()
	s := open(t)
	a, b := s.ask(), s.ask()
	group := s.claim(true)
	if len(group) != 2 || group[0].MessageID != a || group[1].MessageID != b {
		t.Fatalf("group %+v", group)
	}
	head, err := turn.OpenClaimTx(t.Context(), s.tx, s.agent, s.room)
	if err != nil || head == nil || head.MessageID != b {
		t.Fatalf("head %+v, %v", head, err)
	}
	late := s.ask() // it waits, and is no part of the turn
	locked, err := turn.LockGroupTx(t.Context(), s.tx, head.QueueID)
	if err != nil || len(locked) != 2 {
		t.Fatalf("locked %d, %v", len(locked), err)
	}
	if err := s.q.ExtendTx(t.Context(), s.tx, head.ExecutorID, locked); err != nil {
		t.Fatal(err)
	}
	if err := turn.MarkAnsweredTx(t.Context(), s.tx, head.QueueID, a); err != nil {
		t.Fatal(err)
	}
	if err := turn.ReleaseTx(t.Context(), s.tx, locked, false); err != nil { // answered rows are not opened again
		t.Fatal(err)
	}
	if w, err := turn.WaitingInRoom(t.Context(), s.tx, s.agent, s.room); err != nil || len(w) != 1 || w[0] != late {
		t.Fatalf("waiting %v, %v", w, err)
	}
	if err := turn.FinishTx(t.Context(), s.tx, locked, turn.Result{Outcome: turn.Answered, AnswerID: a}); err != nil {
		t.Fatal(err)
	}
	for n, want := range []struct {
		outcome turn.Outcome
		into    id.Message
	}{{turn.Merged, b}, {turn.Answered, id.Message{}}} {
		got, err := turn.Finished(t.Context(), s.tx, s.agent, locked[n].QueueID)
		if err != nil || got == nil || got.Outcome != want.outcome || got.MergedInto != want.into {
			t.Errorf("turn %d: %+v, %v", n, got, err)
		}
	}
}

// Decision 15: whom a late message settles.
func TestP5_SettleFindsItsTurn(t *testing.T) {
	t.Parallel()
	s := open(t)
	if out, err := turn.SettleTx(t.Context(), s.tx, s.agent, s.room, id.New[id.Message](), turn.Answered); err != nil || len(out) != 0 {
		t.Fatalf("nothing to settle: %v, %v", out, err)
	}
	m := s.ask()
	if err := turn.ReleaseTx(t.Context(), s.tx, s.claim(false), false); err != nil {
		t.Fatal(err)
	}
	// Claimed again between the look for an open claim and the settling.
	again := s.claim(false)
	answer := id.New[id.Message]()
	if _, err := turn.SettleTx(t.Context(), s.tx, s.agent, s.room, answer, turn.Answered); err != nil {
		t.Fatal(err)
	}
	got, err := turn.Get(t.Context(), s.tx, again[0].QueueID)
	if err != nil || got == nil || got.AnswerID != answer || got.MessageID != m {
		t.Fatalf("row %+v, %v", got, err)
	}
	if err := turn.FinishTx(t.Context(), s.tx, again, turn.Result{Outcome: turn.Unanswered}); err != nil {
		t.Fatal(err)
	}
	next := s.ask()
	out, err := turn.SettleStaleTx(t.Context(), s.tx, s.agent, s.room, id.Message{})
	if err != nil || len(out) != 1 || out[0] != m {
		t.Fatalf("stale: %v, %v", out, err)
	}
	if got, err := turn.Finished(t.Context(), s.tx, s.agent, again[0].QueueID); err != nil || got.Outcome != turn.Merged || got.MergedInto != next {
		t.Fatalf("turn %+v, %v", got, err)
	}
	// A fresh claim is not answered by a late message.
	fresh := s.claim(false)
	if _, err := turn.SettleTx(t.Context(), s.tx, s.agent, s.room, answer, turn.Answered); err != nil {
		t.Fatal(err)
	}
	if got, err := turn.Get(t.Context(), s.tx, fresh[0].QueueID); err != nil || got.AnsweredAt != nil {
		t.Fatalf("row %+v, %v", got, err)
	}
}
