// Package claim is the one locking pattern of the house: it leases rows of a queue
// table to executors, extends, gives back, expires and finishes them. It owns the
// meaning of the lease columns and the only statements with SKIP LOCKED; it owns
// no table, no timer and no retry policy (decision 11, docs/adr/0002).
//
// A queue table has these columns and keeps all but the first four out of every
// index, so that claim and extend are HOT updates (decision 12):
//
//	id uuid PRIMARY KEY, seq bigint GENERATED ALWAYS AS IDENTITY,
//	agent_id uuid, conversation_id uuid (left out in a queue without conversations),
//	inserted_at, lease_until, claimed_at, seen_at, answered_at timestamptz(6),
//	generation bigint NOT NULL DEFAULT 0, executor_id uuid, attempt integer NOT NULL DEFAULT 0
//
// with fillfactor 60 (a claim makes a row a quarter longer, and neighbours are
// claimed together) and the indexes (agent_id, seq) and (conversation_id, agent_id, seq).
// A row lives from its insert to the end of its work, which deletes it. It is
// open while lease_until is null and claimed while it is not; a lease that is over
// stays claimed until Expire hands it to its owner, who alone can tell whether it
// was answered.
//
// At most one row per (agent, conversation) is claimable: the oldest, and only
// while it is open. Since a claimed row stays in the table, this gives both order
// and one-at-a-time, also when claimers race. It holds if the rows of one (agent,
// conversation) become visible in the order of seq: insert them under the lock of
// the conversation's row.
package claim

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// MaxBatch bounds the rows of one Claim. Larger limits are cut to it.
const MaxBatch = 64

// ErrLost is the answer to whoever acts on a claim that it does not hold, or not
// any more (bridge.md: 403 executor_not_owned).
var ErrLost error = fault.New(fault.Forbidden, "executor_not_owned", "This work is not claimed by this executor.")

// Row holds the columns that every queue table has. Embed it in the struct of a
// queue's rows: the other fields are the payload columns, by name.
type Row struct {
	ID             id.QueueItem
	Seq            int64
	AgentID        id.Participant
	ConversationID id.Conversation // zero in a queue without conversations
	Generation     int64           // counts the claims of this row: 1 at the first
	Attempt        int
	ExecutorID     id.Executor // zero while open
	InsertedAt     time.Time
	LeaseUntil     *time.Time
	ClaimedAt      *time.Time
	SeenAt         *time.Time
	AnsweredAt     *time.Time
}

// Claimed gives the common columns of any queue's row.
func (r Row) Claimed() Row { return r }

// Held names a claim: the row and, where the holder knows it, the generation. Zero
// means that only the executor fences (decision 16).
type Held struct {
	ID         id.QueueItem
	Generation int64
}

// Table describes a queue table.
type Table struct {
	Name            string
	NoConversations bool     // rows are independent: no order, any number in flight
	BoundColumn     string   // the one executor that may claim the row; NULL = any
	Payload         []string // further columns that T has
	// Barred is a condition over the candidate row c under which it is not claimed now,
	// because work elsewhere excludes it; SQL text of the house, "" for none.
	Barred string
	// Lease is the life of a claim after its last sign, MaxLease the life of a claim
	// in all (decision 13).
	Lease, MaxLease time.Duration
}

const claimsPerCPU = 4

// Queue claims rows of one table into structs T, which embed Row.
type Queue[T interface{ Claimed() Row }] struct {
	atOnce          chan struct{} // one for each claim that runs
	lease, maxLease float64       // seconds
	hasRooms        bool
	sql             statements
}

// New prepares the statements of a queue.
func New[T interface{ Claimed() Row }](t Table) *Queue[T] {
	return &Queue[T]{atOnce: make(chan struct{}, claimsPerCPU*runtime.GOMAXPROCS(0)), lease: t.Lease.Seconds(), maxLease: t.MaxLease.Seconds(), hasRooms: !t.NoConversations, sql: build(t)}
}

// Claim leases up to limit open rows of an agent to an executor, at most one per
// conversation and none of a conversation that has a claim already. Rows come in
// the order of seq. Each gets a new generation. It never waits for a row that
// somebody else holds. At most claimsPerCPU claims per processor run at once, the
// others wait: more of them only take turns at the same pages. Callers of one queue
// either all bring a transaction or none does, so that nobody who waits here has the
// connection that somebody who claims waits for.
func (q *Queue[T]) Claim(ctx context.Context, db pg.Querier, agent id.Participant, executor id.Executor, limit int) ([]T, error) {
	if limit <= 0 {
		return nil, nil
	}
	select {
	case q.atOnce <- struct{}{}:
		defer func() { <-q.atOnce }()
	case <-ctx.Done():
		return nil, fmt.Errorf("claim: %w", ctx.Err())
	}
	rows, err := q.collect(ctx, db, q.sql.claim[min(limit, MaxBatch)], agent, executor, q.lease)
	if err != nil {
		return nil, fmt.Errorf("claim: %w", err)
	}
	return rows, nil
}

// Turn is the work of one conversation: what the agent answers in one go.
type Turn[T any] struct {
	First  T
	Merged []T // later rows of the same agent and conversation, in order
}

// ClaimMerged is Claim that also leases the other open rows of each conversation
// to the same executor (up to 200 in all), so that they are answered together.
// limit counts conversations.
func (q *Queue[T]) ClaimMerged(ctx context.Context, tx *pg.Tx, agent id.Participant, executor id.Executor, limit int) ([]Turn[T], error) {
	firsts, err := q.Claim(ctx, tx, agent, executor, limit)
	if err != nil || len(firsts) == 0 {
		return nil, err
	}
	turns := make([]Turn[T], len(firsts))
	byRoom := make(map[id.Conversation]int, len(firsts))
	rooms := make([]id.Conversation, len(firsts))
	for i, f := range firsts {
		turns[i].First = f
		rooms[i] = f.Claimed().ConversationID
		byRoom[rooms[i]] = i
	}
	if !q.hasRooms {
		return turns, nil
	}
	rest, err := q.collect(ctx, tx, q.sql.merge, agent, executor, q.lease, id.Strings(rooms))
	if err != nil {
		return nil, fmt.Errorf("claim merged: %w", err)
	}
	for _, r := range rest {
		t := &turns[byRoom[r.Claimed().ConversationID]]
		t.Merged = append(t.Merged, r)
	}
	return turns, nil
}

// Extend counts as a sign of life: it marks the claims as seen and renews their
// leases, never beyond MaxLease after the claim. It returns those that the
// executor still holds; the others are lost.
func (q *Queue[T]) Extend(ctx context.Context, db pg.Querier, executor id.Executor, held ...Held) ([]T, error) {
	if len(held) == 0 {
		return nil, nil
	}
	ids, generations := split(held)
	rows, err := q.collect(ctx, db, q.sql.extend, ids, executor, generations, q.lease, q.maxLease)
	if err != nil {
		return nil, fmt.Errorf("extend claims: %w", err)
	}
	return rows, nil
}

// Hold locks a claimed row and proves that the executor holds it. A claim that is
// lost gives ErrLost. Take it after the lock of the conversation's row.
func (q *Queue[T]) Hold(ctx context.Context, tx *pg.Tx, executor id.Executor, h Held) (T, error) {
	rows, err := q.collect(ctx, tx, q.sql.hold, h.ID, executor, h.Generation)
	switch {
	case err != nil:
		return *new(T), fmt.Errorf("hold claim: %w", err)
	case len(rows) == 0:
		return *new(T), fmt.Errorf("hold claim: %w", ErrLost)
	}
	return rows[0], nil
}

// Remove deletes rows whoever holds them and returns them: for the owner of the
// queue, after Hold, Expire, a stop or a deletion. What became of them is written in
// the same transaction.
func (q *Queue[T]) Remove(ctx context.Context, tx *pg.Tx, ids ...id.QueueItem) ([]T, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := q.collect(ctx, tx, q.sql.remove, id.Strings(ids))
	if err != nil {
		return nil, fmt.Errorf("remove queue rows: %w", err)
	}
	return rows, nil
}

// collect runs a statement that returns queue rows and orders them by seq:
// RETURNING has no order.
func (q *Queue[T]) collect(ctx context.Context, db pg.Querier, sql string, args ...any) ([]T, error) {
	rows, err := db.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByName[T])
	slices.SortFunc(out, func(a, b T) int { return cmp.Compare(a.Claimed().Seq, b.Claimed().Seq) })
	return out, err
}

func split(held []Held) (ids []string, generations []int64) {
	ids, generations = make([]string, 0, len(held)), make([]int64, 0, len(held))
	for _, h := range held {
		ids = append(ids, h.ID.String())
		generations = append(generations, h.Generation)
	}
	return ids, generations
}
