package task

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/claim"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// ErrLost is the answer to a write that names a claim which is no longer held.
var ErrLost = claim.ErrLost

// Reason says why a task is offered.
type Reason string

// The reasons.
const (
	ReasonNew      Reason = "new"
	ReasonRetry    Reason = "retry"
	ReasonReattach Reason = "reattach" // its run survived the bridge and is to be adopted
	ReasonWoken    Reason = "woken"    // sub-tasks or new instructions
	ReasonAnswered Reason = "answered" // a question was answered
)

// Claim is a queue row.
type Claim struct {
	claim.Row
	TaskID          id.Task
	Reason          Reason
	BoundExecutorID id.Executor
	AcceptedAt      *time.Time
}

// Held reports that an executor has it.
func (c Claim) Held() bool { return c.LeaseUntil != nil }

// plainClaim is the row as our own statements read it; the ones of claim name a room.
type plainClaim struct {
	ID              id.QueueItem
	Seq             int64
	AgentID         id.Participant
	TaskID          id.Task
	Reason          Reason
	BoundExecutorID id.Executor
	InsertedAt      time.Time
	LeaseUntil      *time.Time
	Generation      int64
	ExecutorID      id.Executor
	ClaimedAt       *time.Time
	SeenAt          *time.Time
	AnsweredAt      *time.Time
	AcceptedAt      *time.Time
	Attempt         int
}

func (p plainClaim) claim() Claim {
	return Claim{
		Row: claim.Row{
			ID: p.ID, Seq: p.Seq, AgentID: p.AgentID, Generation: p.Generation, Attempt: p.Attempt, ExecutorID: p.ExecutorID, InsertedAt: p.InsertedAt,
			LeaseUntil: p.LeaseUntil, ClaimedAt: p.ClaimedAt, SeenAt: p.SeenAt, AnsweredAt: p.AnsweredAt,
		},
		TaskID: p.TaskID, Reason: p.Reason, BoundExecutorID: p.BoundExecutorID, AcceptedAt: p.AcceptedAt,
	}
}

// Times are the lives of a claim.
type Times struct {
	Lease  time.Duration // after its last sign
	Most   time.Duration // in all
	Accept time.Duration // until it is accepted
}

// Queue claims tasks. It is immutable; make one per server.
type Queue struct {
	rows  *claim.Queue[Claim]
	times Times
}

// NewQueue makes the queue of tasks.
func NewQueue(t Times) *Queue {
	return &Queue{times: t, rows: claim.New[Claim](claim.Table{
		Name: "queued_tasks", NoConversations: true, BoundColumn: "bound_executor_id",
		Payload: []string{"task_id", "reason", "bound_executor_id", "accepted_at"}, Lease: t.Lease, MaxLease: t.Most,
	})}
}

// ClaimTx leases up to limit tasks of an agent to an executor.
func (q *Queue) ClaimTx(ctx context.Context, tx *pg.Tx, agent id.Participant, ex id.Executor, limit int) ([]Claim, error) {
	out, err := q.rows.Claim(ctx, tx, agent, ex, limit)
	if err != nil {
		return nil, fmt.Errorf("claim tasks: %w", err)
	}
	return out, nil
}

// ExtendTx is a sign of life of a claim; ErrLost when the executor does not hold it.
func (q *Queue) ExtendTx(ctx context.Context, tx *pg.Tx, c Claim) error {
	rows, err := q.rows.Extend(ctx, tx, c.ExecutorID, claim.Held{ID: c.ID, Generation: c.Generation})
	if err != nil {
		return fmt.Errorf("extend task claim: %w", err)
	}
	if len(rows) == 0 {
		return ErrLost
	}
	return nil
}

// Statements lists every statement of claiming, for the test that plans them.
func (q *Queue) Statements() []string { return q.rows.All() }

// EnqueueTx offers a task to an agent; a task that is offered already is left alone.
// bound is the one executor that may claim it, zero for any.
func EnqueueTx(ctx context.Context, tx *pg.Tx, agent id.Participant, t id.Task, r Reason, bound id.Executor) error {
	if _, err := tx.Exec(ctx, sqlEnqueue, agent, t, string(r), bound); err != nil {
		return fmt.Errorf("enqueue task: %w", err)
	}
	return nil
}

// DequeueTx takes a task out of the queue and returns its row; nil when it was not there.
func DequeueTx(ctx context.Context, tx *pg.Tx, t id.Task) (*Claim, error) {
	return oneClaim(ctx, tx, sqlDequeue, t)
}

// Row reads a queue row; nil when it is gone.
func Row(ctx context.Context, q pg.Querier, item id.QueueItem) (*Claim, error) {
	return oneClaim(ctx, q, sqlRow, item)
}

// RowOf reads the queue row of a task; nil when there is none.
func RowOf(ctx context.Context, q pg.Querier, t id.Task) (*Claim, error) {
	return oneClaim(ctx, q, sqlRowOfTask, t)
}

// LockRowTx locks the queue row of a task, which is locked; nil when there is none.
func LockRowTx(ctx context.Context, tx *pg.Tx, t id.Task) (*Claim, error) {
	return oneClaim(ctx, tx, sqlLockRowOfTask, t)
}

// AcceptTx notes that the executor has begun.
func AcceptTx(ctx context.Context, tx *pg.Tx, item id.QueueItem) error {
	if _, err := tx.Exec(ctx, sqlAccepted, item); err != nil {
		return fmt.Errorf("accept task: %w", err)
	}
	return nil
}

// ReopenTx offers a row again. Refund says that the attempt does not count.
func ReopenTx(ctx context.Context, tx *pg.Tx, item id.QueueItem, refund bool, r Reason, bound id.Executor) error {
	back := 0
	if refund {
		back = 1
	}
	if _, err := tx.Exec(ctx, sqlReopen, item, back, bound, string(r)); err != nil {
		return fmt.Errorf("reopen task: %w", err)
	}
	return nil
}

// HeldBy lists what an executor holds.
func HeldBy(ctx context.Context, q pg.Querier, agent id.Participant, ex id.Executor) ([]Claim, error) {
	return claims(ctx, q, sqlHeld, agent, ex)
}

// Running lists the tasks that an agent works at, wherever it runs.
func Running(ctx context.Context, q pg.Querier, agent id.Participant) ([]Claim, error) {
	return claims(ctx, q, sqlRunning, agent)
}

// Unaccepted lists claims that nobody has accepted; for the start of the server.
func Unaccepted(ctx context.Context, q pg.Querier, limit int) ([]Claim, error) {
	return claims(ctx, q, sqlUnseen, limit)
}

// Lapsed lists claims of these agents whose time is over. They are not locked:
// look again with StillLapsedTx.
func (q *Queue) Lapsed(ctx context.Context, db pg.Querier, agents []id.Participant) ([]Claim, error) {
	if len(agents) == 0 {
		return nil, nil
	}
	return claims(ctx, db, sqlLapsed, id.Strings(agents), q.times.Most.Seconds(), q.times.Accept.Seconds())
}

// StillLapsedTx reports, for a locked row, that its time is over.
func (q *Queue) StillLapsedTx(ctx context.Context, tx *pg.Tx, item id.QueueItem) (over bool, err error) {
	err = tx.QueryRow(ctx, sqlStillLapsed, item, q.times.Most.Seconds(), q.times.Accept.Seconds()).Scan(&over)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at task lease: %w", err)
	}
	return over, nil
}

// InFlight counts the tasks that an executor holds.
func InFlight(ctx context.Context, q pg.Querier, agent id.Participant, ex id.Executor) (n int, err error) {
	if err := q.QueryRow(ctx, sqlInFlight, agent, ex).Scan(&n); err != nil {
		return 0, fmt.Errorf("count tasks: %w", err)
	}
	return n, nil
}

// CountWaiting counts the tasks that wait for an agent.
func CountWaiting(ctx context.Context, q pg.Querier, agent id.Participant) (n int, err error) {
	if err := q.QueryRow(ctx, sqlCountWaiting, agent).Scan(&n); err != nil {
		return 0, fmt.Errorf("count waiting tasks: %w", err)
	}
	return n, nil
}

// WaitingAgents lists those of the agents for which a task waits.
func WaitingAgents(ctx context.Context, q pg.Querier, agents []id.Participant) ([]id.Participant, error) {
	if len(agents) == 0 {
		return nil, nil
	}
	return people(ctx, q, sqlWaiting, id.Strings(agents))
}

// Holders lists the agents that hold claims; for the start of the server.
func Holders(ctx context.Context, q pg.Querier) ([]id.Participant, error) {
	return people(ctx, q, sqlHolders)
}

// RoomsInWork are the rooms in which the agent runs a task, at most 200.
func RoomsInWork(ctx context.Context, q pg.Querier, agent id.Participant) ([]id.Conversation, error) {
	return pg.Column[id.Conversation](ctx, q, "list rooms in work", sqlRoomsInWork, agent)
}

// Unbind lets any executor run what was kept for one that is gone.
func Unbind(ctx context.Context, q pg.Querier, agent id.Participant, ex id.Executor) error {
	if _, err := q.Exec(ctx, sqlUnbind, agent, ex); err != nil {
		return fmt.Errorf("unbind tasks: %w", err)
	}
	return nil
}

func people(ctx context.Context, q pg.Querier, sql string, args ...any) ([]id.Participant, error) {
	return pg.Column[id.Participant](ctx, q, "list agents", sql, args...)
}

func oneClaim(ctx context.Context, q pg.Querier, sql string, args ...any) (*Claim, error) {
	list, err := claims(ctx, q, sql, args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return &list[0], nil
}

func claims(ctx context.Context, q pg.Querier, sql string, args ...any) ([]Claim, error) {
	plain, err := pg.Rows[plainClaim](ctx, q, "read task queue", sql, args...)
	if err != nil {
		return nil, err
	}
	out := make([]Claim, len(plain))
	for n, p := range plain {
		out[n] = p.claim()
	}
	return out, nil
}
