package claim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/claim"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/pg/pgtest"

	"golang.org/x/sync/errgroup"
)

type item struct {
	claim.Row
	MessageID id.Message
}

type queue = claim.Queue[item]

// bench is a queue of the shape of queued_messages without its foreign keys.
func bench(t *testing.T, lease, longest time.Duration, opts ...pgtest.Option) (*pg.DB, *queue) {
	t.Helper()
	db := pgtest.DB(t, opts...)
	var options string // LIKE does not copy them
	err := db.QueryRow(t.Context(), `SELECT array_to_string(reloptions, ', ') FROM pg_class WHERE relname = 'queued_messages'`).Scan(&options)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(t.Context(), `CREATE TABLE queue (LIKE queued_messages INCLUDING ALL) WITH (`+options+`)`)
	if err != nil {
		t.Fatal(err)
	}
	return db, claim.New[item](claim.Table{Name: "queue", Payload: []string{"message_id"}, Lease: lease, MaxLease: longest})
}

func add(t *testing.T, db pg.Querier, agent id.Participant, rooms ...id.Conversation) {
	t.Helper()
	for _, room := range rooms {
		_, err := db.Exec(t.Context(), `INSERT INTO queue (agent_id, conversation_id, message_id) VALUES ($1, $2, gen_random_uuid())`, agent, room)
		if err != nil {
			t.Fatal(err)
		}
	}
}

func mustClaim(t *testing.T, db pg.Querier, q *queue, agent id.Participant, executor id.Executor, limit, want int) []item {
	t.Helper()
	got, err := q.Claim(t.Context(), db, agent, executor, limit)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != want {
		t.Fatalf("claimed %d, want %d", len(got), want)
	}
	return got
}

func held(i item) claim.Held { return claim.Held{ID: i.ID, Generation: i.Generation} }

func inTx(t *testing.T, db *pg.DB, fn func(ctx context.Context, tx *pg.Tx) error) {
	t.Helper()
	if err := db.InTx(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func finish(t *testing.T, db *pg.DB, q *queue, executor id.Executor, i item) error {
	t.Helper()
	return db.InTx(t.Context(), func(ctx context.Context, tx *pg.Tx) error { return finishTx(ctx, tx, q, executor, i) })
}

// finishTx is how the owner of a queue ends work: the claim is proved, the row goes.
func finishTx(ctx context.Context, tx *pg.Tx, q *queue, executor id.Executor, i item) error {
	row, err := q.Hold(ctx, tx, executor, held(i))
	if err != nil {
		return err
	}
	_, err = q.Remove(ctx, tx, row.ID)
	return err
}

func TestP3_OneInFlightPerConversationInOrder(t *testing.T) {
	t.Parallel()
	db, q := bench(t, time.Minute, time.Hour)
	agent, me := id.New[id.Participant](), id.New[id.Executor]()
	a, b, c := id.New[id.Conversation](), id.New[id.Conversation](), id.New[id.Conversation]()
	add(t, db, agent, a, a, b, a, c)
	add(t, db, id.New[id.Participant](), a) // another agent in the same room is nobody's concern

	first := mustClaim(t, db, q, agent, me, 2, 2)
	if first[0].ConversationID != a || first[1].ConversationID != b || first[0].Seq > first[1].Seq {
		t.Fatalf("order: %+v", first)
	}
	if r := first[0]; r.Generation != 1 || r.Attempt != 1 || r.ExecutorID != me || r.LeaseUntil == nil || r.MessageID.IsZero() || r.AgentID != agent {
		t.Fatalf("row: %+v", r)
	}
	rest := mustClaim(t, db, q, agent, me, 10, 1)
	if rest[0].ConversationID != c {
		t.Fatalf("a room in flight was claimed again: %+v", rest)
	}
	mustClaim(t, db, q, agent, me, 0, 0)
	if err := finish(t, db, q, me, first[0]); err != nil {
		t.Fatal(err)
	}
	next := mustClaim(t, db, q, agent, me, 10, 1)
	if next[0].ConversationID != a || next[0].Seq <= first[0].Seq {
		t.Fatalf("next of the room: %+v", next)
	}
}

func TestP3_MergedTakesTheWholeRoom(t *testing.T) {
	t.Parallel()
	db, q := bench(t, time.Minute, time.Hour)
	agent, me := id.New[id.Participant](), id.New[id.Executor]()
	a, b := id.New[id.Conversation](), id.New[id.Conversation]()
	add(t, db, agent, a, b, a, a)
	var turns []claim.Turn[item]
	inTx(t, db, func(ctx context.Context, tx *pg.Tx) (err error) {
		turns, err = q.ClaimMerged(ctx, tx, agent, me, 5)
		return err
	})
	if len(turns) != 2 || len(turns[0].Merged) != 2 || len(turns[1].Merged) != 0 || turns[0].First.ConversationID != a {
		t.Fatalf("%+v", turns)
	}
	if m := turns[0].Merged; m[0].Seq > m[1].Seq || m[0].ExecutorID != me || m[1].Generation != 1 {
		t.Fatalf("merged: %+v", m)
	}
	add(t, db, agent, a) // comes while the room is being worked on
	mustClaim(t, db, q, agent, me, 5, 0)
	for _, i := range append([]item{turns[0].First}, turns[0].Merged...) {
		mustClaim(t, db, q, agent, me, 5, 0)
		if err := finish(t, db, q, me, i); err != nil {
			t.Fatal(err)
		}
	}
	mustClaim(t, db, q, agent, me, 5, 1)
}

func TestP3_FencingByExecutorAndGeneration(t *testing.T) {
	t.Parallel()
	db, q := bench(t, time.Minute, time.Hour)
	agent, me, other := id.New[id.Participant](), id.New[id.Executor](), id.New[id.Executor]()
	add(t, db, agent, id.New[id.Conversation]())
	old := mustClaim(t, db, q, agent, me, 1, 1)[0]
	if back, err := q.Release(t.Context(), db, me, held(old)); err != nil || len(back) != 1 || back[0].LeaseUntil != nil {
		t.Fatalf("%+v, %v", back, err)
	}
	now := mustClaim(t, db, q, agent, me, 1, 1)[0]
	if now.ID != old.ID || now.Generation != old.Generation+1 || now.Attempt != 2 {
		t.Fatalf("again: %+v", now)
	}
	for name, err := range map[string]error{
		"another executor":      finish(t, db, q, other, now),
		"an earlier generation": finish(t, db, q, me, old),
		"a row that is not":     finish(t, db, q, me, item{Row: claim.Row{ID: id.New[id.QueueItem]()}}),
	} {
		if !errors.Is(err, claim.ErrLost) || fault.KindOf(err) != fault.Forbidden || !fault.Is(err, "executor_not_owned") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, h := range []claim.Held{held(old), {ID: id.New[id.QueueItem]()}} {
		if got, err := q.Extend(t.Context(), db, me, h); err != nil || len(got) != 0 {
			t.Errorf("extended what it does not hold: %+v, %v", got, err)
		}
	}
	got, err := q.Extend(t.Context(), db, me, claim.Held{ID: id.New[id.QueueItem](), Generation: 9}, held(now))
	if err != nil || len(got) != 1 || got[0].SeenAt == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	now.Generation = 0 // a foreign bridge knows no generation
	if err := finish(t, db, q, me, now); err != nil {
		t.Fatal(err)
	}
}

func TestP3_LeaseIsRenewedUpToTheCap(t *testing.T) {
	t.Parallel()
	db, q := bench(t, 600*time.Second, 3600*time.Second)
	agent, me := id.New[id.Participant](), id.New[id.Executor]()
	add(t, db, agent, id.New[id.Conversation]())
	i := mustClaim(t, db, q, agent, me, 1, 1)[0]
	if d := i.LeaseUntil.Sub(*i.ClaimedAt); d != 600*time.Second {
		t.Fatalf("lease %v", d)
	}
	if _, err := db.Exec(t.Context(), `UPDATE queue SET claimed_at = now() - interval '3500 seconds'`); err != nil {
		t.Fatal(err)
	}
	got, err := q.Extend(t.Context(), db, me, held(i))
	if err != nil || got[0].LeaseUntil.Sub(*got[0].ClaimedAt) != 3600*time.Second {
		t.Fatalf("%+v, %v", got, err)
	}
}

func TestP3_UnseenGoesBackAndSeenStays(t *testing.T) {
	t.Parallel()
	db, q := bench(t, time.Minute, time.Hour)
	agent, me := id.New[id.Participant](), id.New[id.Executor]()
	for range 4 {
		add(t, db, agent, id.New[id.Conversation]())
	}
	all := mustClaim(t, db, q, agent, me, 4, 4)
	if got, err := q.Extend(t.Context(), db, me, held(all[0])); err != nil || len(got) != 1 {
		t.Fatal(got, err)
	}
	if back, err := q.ReleaseAllUnseen(t.Context(), db); err != nil || len(back) != 3 {
		t.Fatalf("%d went back, %v", len(back), err)
	}
	again := mustClaim(t, db, q, agent, me, 4, 3)
	if again[0].SeenAt != nil {
		t.Fatal("a new claim is unseen")
	}
	if back, err := q.Release(t.Context(), db, me, held(again[0])); err != nil || len(back) != 1 {
		t.Fatalf("%d went back, %v", len(back), err)
	}
	if back, err := q.ReleaseAllUnseen(t.Context(), db); err != nil || len(back) != 2 {
		t.Fatalf("%d went back at start, %v", len(back), err)
	}
	if mine, err := q.Claims(t.Context(), db, agent, me); err != nil || len(mine) != 1 || mine[0].ID != all[0].ID {
		t.Fatalf("%+v, %v", mine, err)
	}
}

func TestP3_AnsweredIsNeverOfferedAgain(t *testing.T) {
	t.Parallel()
	db, q := bench(t, time.Minute, time.Hour)
	agent, me, room := id.New[id.Participant](), id.New[id.Executor](), id.New[id.Conversation]()
	add(t, db, agent, room, room)
	i := mustClaim(t, db, q, agent, me, 1, 1)[0]
	if _, err := db.Exec(t.Context(), `UPDATE queue SET answered_at = now(), seen_at = now() WHERE id = $1`, i.ID); err != nil {
		t.Fatal(err)
	}
	for name, release := range map[string]func() ([]item, error){
		"by id":    func() ([]item, error) { return q.Release(t.Context(), db, me, held(i)) },
		"at start": func() ([]item, error) { return q.ReleaseAllUnseen(t.Context(), db) },
	} {
		if back, err := release(); err != nil || len(back) != 0 {
			t.Errorf("%s: %+v, %v", name, back, err)
		}
	}
	mustClaim(t, db, q, agent, me, 5, 0)
	inTx(t, db, func(ctx context.Context, tx *pg.Tx) error { // its lease is over: the owner gets it to close
		over, err := q.Expire(ctx, tx)
		if err != nil || len(over) != 1 || over[0].ID != i.ID || over[0].AnsweredAt == nil {
			t.Fatalf("%+v, %v", over, err)
		}
		if back, err := q.Reopen(ctx, tx, i.ID); err != nil || len(back) != 0 {
			t.Errorf("reopened: %+v, %v", back, err)
		}
		return nil
	})
	if err := finish(t, db, q, me, i); err != nil { // the late ack of the same executor still counts
		t.Fatal(err)
	}
	mustClaim(t, db, q, agent, me, 5, 1)
}

func TestP3_ExpiredIsOfferedAgainByItsOwner(t *testing.T) {
	t.Parallel()
	db, q := bench(t, 0, time.Hour) // every lease is over at once
	agent, me, other := id.New[id.Participant](), id.New[id.Executor](), id.New[id.Executor]()
	a, b := id.New[id.Conversation](), id.New[id.Conversation]()
	add(t, db, agent, a, b)
	claimed := mustClaim(t, db, q, agent, me, 2, 2)
	mustClaim(t, db, q, agent, other, 2, 0)
	inTx(t, db, func(ctx context.Context, tx *pg.Tx) error {
		if _, err := q.Hold(ctx, tx, me, held(claimed[1])); err != nil { // somebody finishes this one right now
			return err
		}
		inTx(t, db, func(ctx context.Context, tx *pg.Tx) error {
			over, err := q.Expire(ctx, tx)
			if err != nil || len(over) != 1 || over[0].ID != claimed[0].ID {
				t.Fatalf("%+v, %v", over, err)
			}
			_, err = q.Reopen(ctx, tx, over[0].ID)
			return err
		})
		return nil
	})
	if again := mustClaim(t, db, q, agent, other, 2, 1); again[0].Generation != 2 {
		t.Fatalf("%+v", again)
	}
	if err := finish(t, db, q, me, claimed[0]); !errors.Is(err, claim.ErrLost) {
		t.Fatalf("late ack: %v", err)
	}
	inTx(t, db, func(ctx context.Context, tx *pg.Tx) error {
		gone, err := q.Remove(ctx, tx, claimed[1].ID)
		if len(gone) != 1 {
			t.Errorf("removed %d", len(gone))
		}
		return err
	})
	var left int
	if err := db.QueryRow(t.Context(), `SELECT count(*) FROM queue WHERE conversation_id = $1`, b).Scan(&left); err != nil || left != 0 {
		t.Fatalf("%d left, %v", left, err)
	}
}

func TestQueueWithoutConversations(t *testing.T) {
	t.Parallel()
	db, _ := bench(t, time.Minute, time.Hour)
	q := claim.New[item](claim.Table{Name: "queue", Payload: []string{"message_id"}, NoConversations: true, Lease: time.Minute, MaxLease: time.Hour})
	agent, room := id.New[id.Participant](), id.New[id.Conversation]()
	add(t, db, agent, room, room, room)
	if got := mustClaim(t, db, q, agent, id.New[id.Executor](), 2, 2); !got[0].ConversationID.IsZero() {
		t.Fatalf("%+v", got)
	}
}

// TestP3_BoundToOneExecutor: a row that only one executor can work on waits for it.
func TestP3_BoundToOneExecutor(t *testing.T) {
	t.Parallel()
	db, _ := bench(t, time.Minute, time.Hour)
	if _, err := db.Exec(t.Context(), `ALTER TABLE queue ADD COLUMN only_executor_id uuid`); err != nil {
		t.Fatal(err)
	}
	q := claim.New[item](claim.Table{Name: "queue", Payload: []string{"message_id"}, NoConversations: true, BoundColumn: "only_executor_id", Lease: time.Minute, MaxLease: time.Hour})
	agent, mine, other := id.New[id.Participant](), id.New[id.Executor](), id.New[id.Executor]()
	for _, only := range []any{mine, nil} {
		if _, err := db.Exec(t.Context(), `INSERT INTO queue (agent_id, conversation_id, message_id, only_executor_id) VALUES ($1, gen_random_uuid(), gen_random_uuid(), $2::uuid)`, agent, only); err != nil {
			t.Fatal(err)
		}
	}
	got := mustClaim(t, db, q, agent, other, 10, 1)
	if _, err := q.Release(t.Context(), db, other, held(got[0])); err != nil {
		t.Fatal(err)
	}
	mustClaim(t, db, q, agent, mine, 10, 2)
}

// More claims than may run at once wait for one another and all get what is theirs.
func TestM4_ClaimsBeyondTheBoundWait(t *testing.T) {
	t.Parallel()
	db, q := bench(t, time.Minute, time.Hour)
	const claimers = 64
	agents := make([]id.Participant, claimers)
	for n := range agents {
		agents[n] = id.New[id.Participant]()
		add(t, db, agents[n], id.New[id.Conversation]())
	}
	var group errgroup.Group
	for _, agent := range agents {
		group.Go(func() error {
			got, err := q.Claim(t.Context(), db, agent, id.New[id.Executor](), 1)
			if err == nil && len(got) != 1 {
				err = errors.New("nothing was claimed")
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if _, err := q.Claim(ended, db, agents[0], id.New[id.Executor](), 1); !errors.Is(err, context.Canceled) {
		t.Fatalf("a claim of a caller who is gone: %v", err)
	}
}
