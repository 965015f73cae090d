package claim_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/claim"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

type pair struct {
	agent id.Participant
	room  id.Conversation
}

// ledger knows what is in flight, and objects.
type ledger struct {
	t        *testing.T
	mu       sync.Mutex
	inFlight map[pair]id.QueueItem
	lastSeq  map[pair]int64
	gens     map[id.QueueItem]int64
	done     map[id.QueueItem]bool
	left     int
	finished chan struct{}
}

func (l *ledger) claimed(turn claim.Turn[item]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := pair{turn.First.AgentID, turn.First.ConversationID}
	if busy, ok := l.inFlight[p]; ok {
		l.t.Errorf("two in flight in one room: %v and %v", busy, turn.First.ID)
	}
	l.inFlight[p] = turn.First.ID
	last := l.lastSeq[p]
	for _, i := range append([]item{turn.First}, turn.Merged...) {
		if i.Seq <= last {
			l.t.Errorf("out of order: %d after %d", i.Seq, last)
		}
		last = i.Seq
		if i.Generation <= l.gens[i.ID] {
			l.t.Errorf("generation %d again", i.Generation)
		}
		l.gens[i.ID] = i.Generation
		if l.done[i.ID] {
			l.t.Errorf("%v was finished before", i.ID)
		}
	}
}

// leaving is called before the claim is given up in the database.
func (l *ledger) leaving(turn claim.Turn[item], done bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := pair{turn.First.AgentID, turn.First.ConversationID}
	delete(l.inFlight, p)
	if !done {
		return
	}
	for _, i := range append([]item{turn.First}, turn.Merged...) {
		l.lastSeq[p] = i.Seq
		l.done[i.ID] = true
		l.left--
	}
	if l.left == 0 {
		close(l.finished)
	}
}

// TestP3_RaceOfManyClaimers has many executors claim, merge, release and finish
// the rows of few rooms while more arrive: at no time are two rows of one room in
// flight in different turns, and every row is finished once, in order.
func TestP3_RaceOfManyClaimers(t *testing.T) {
	t.Parallel()
	const claimers, agents, rooms, each = 12, 2, 5, 25
	db, q := bench(t, time.Minute, time.Hour, func(c *pg.Config) { c.MaxConns = claimers + 4; c.WaitTimeout = time.Minute })
	if _, err := db.Exec(t.Context(), `CREATE TABLE rooms (id uuid PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	var who []id.Participant
	for range agents {
		who = append(who, id.New[id.Participant]())
	}
	l := &ledger{t: t, inFlight: map[pair]id.QueueItem{}, lastSeq: map[pair]int64{}, gens: map[id.QueueItem]int64{}, done: map[id.QueueItem]bool{},
		left: agents * rooms * each, finished: make(chan struct{})}

	var wg sync.WaitGroup
	for range rooms {
		room := id.New[id.Conversation]()
		if _, err := db.Exec(t.Context(), `INSERT INTO rooms (id) VALUES ($1)`, room); err != nil {
			t.Fatal(err)
		}
		for w := range 2 { // two writers per room, under its row lock as posting does
			wg.Go(func() {
				for range each/2 + w*(each%2) {
					post(t, db, who, room)
				}
			})
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for n := range claimers {
		wg.Go(func() { work(ctx, t, db, q, who, l, n%2 == 0) })
	}
	select {
	case <-l.finished:
	case <-ctx.Done():
		t.Errorf("%d rows were never finished", l.left)
	}
	cancel()
	wg.Wait()
	var left int
	if err := db.QueryRow(t.Context(), `SELECT count(*) FROM queue`).Scan(&left); err != nil || left != 0 {
		t.Fatalf("%d rows left, %v", left, err)
	}
}

// post adds one row per agent, as one message does.
func post(t *testing.T, db *pg.DB, who []id.Participant, room id.Conversation) {
	t.Helper()
	err := db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT id FROM rooms WHERE id = $1 FOR UPDATE`, room); err != nil {
			return err
		}
		for _, agent := range who {
			_, err := tx.Exec(ctx, `INSERT INTO queue (agent_id, conversation_id, message_id) VALUES ($1, $2, gen_random_uuid())`, agent, room)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func work(ctx context.Context, t *testing.T, db *pg.DB, q *queue, who []id.Participant, l *ledger, merge bool) {
	me := id.New[id.Executor]()
	for ctx.Err() == nil {
		var turns []claim.Turn[item]
		err := db.InTx(ctx, func(ctx context.Context, tx *pg.Tx) (err error) {
			agent, limit := who[rand.IntN(len(who))], 1+rand.IntN(3)
			if merge {
				turns, err = q.ClaimMerged(ctx, tx, agent, me, limit)
				return err
			}
			items, err := q.Claim(ctx, tx, agent, me, limit)
			turns = turns[:0]
			for _, i := range items {
				turns = append(turns, claim.Turn[item]{First: i})
			}
			return err
		})
		if err != nil {
			if ctx.Err() == nil {
				t.Error(err)
			}
			return
		}
		for _, turn := range turns {
			l.claimed(turn)
			end(ctx, t, db, q, me, l, turn)
		}
	}
}

// end gives a turn back in one of four cases, else finishes it.
func end(ctx context.Context, t *testing.T, db *pg.DB, q *queue, me id.Executor, l *ledger, turn claim.Turn[item]) {
	done := rand.IntN(4) != 0
	l.leaving(turn, done)
	err := db.InTx(context.WithoutCancel(ctx), func(ctx context.Context, tx *pg.Tx) error {
		for _, i := range append([]item{turn.First}, turn.Merged...) {
			if !done {
				if _, err := q.Release(ctx, tx, me, held(i)); err != nil {
					return err
				}
				continue
			}
			if err := finishTx(ctx, tx, q, me, i); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
