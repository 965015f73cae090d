package approval

import (
	"context"
	"fmt"
	"time"

	"github.com/agntchat/agntchat/internal/claim"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Queue is the queue of runs that wait to hear what was decided. It is immutable;
// make one per server.
type Queue struct {
	rows  *claim.Queue[Waiting]
	Lease time.Duration
}

// Waiting is one row of it.
type Waiting struct {
	claim.Row
	ApprovalID id.Approval
}

// NewQueue makes the queue; lease is a claim's life after its last sign, most its life
// in all. busy is a condition over the request a under which the run of a turn waits,
// "" for none: the agent runs another turn in its conversation. Runs of tasks have
// a lane of their own.
func NewQueue(lease, most time.Duration, busy string) *Queue {
	barred := ""
	if busy != "" {
		barred = `EXISTS (SELECT 1 FROM approvals a WHERE a.id = c.approval_id AND a.task_id IS NULL AND ` + busy + `)`
	}
	return &Queue{Lease: lease, rows: claim.New[Waiting](claim.Table{
		Name: "queued_approvals", NoConversations: true, BoundColumn: "bound_executor_id", Payload: []string{"approval_id"}, Lease: lease, MaxLease: most, Barred: barred,
	})}
}

// HeldIn is the condition that a run of an agent's turn is being resumed in a
// conversation, over two expressions of a statement.
func HeldIn(agent, conversation string) string {
	return `EXISTS (SELECT 1 FROM queued_approvals r JOIN approvals x ON x.id = r.approval_id AND x.task_id IS NULL
      WHERE r.agent_id = ` + agent + ` AND r.lease_until IS NOT NULL AND x.conversation_id = ` + conversation + `)`
}

// EnqueueTx makes the run of a durable request hear of its decision, once.
func EnqueueTx(ctx context.Context, tx *pg.Tx, a Approval) error {
	if _, err := tx.Exec(ctx, queryEnqueue, a.AgentID, a.ID, a.ExecutorID); err != nil {
		return fmt.Errorf("enqueue approval: %w", err)
	}
	return nil
}

// InFlight counts what an executor holds.
func InFlight(ctx context.Context, q pg.Querier, agent id.Participant, ex id.Executor) (n int, err error) {
	if err := q.QueryRow(ctx, queryInFlight, agent, ex).Scan(&n); err != nil {
		return 0, fmt.Errorf("count approvals in flight: %w", err)
	}
	return n, nil
}

// WaitingAgents are those of the agents that have a row nobody holds.
func WaitingAgents(ctx context.Context, q pg.Querier, agents []id.Participant) ([]id.Participant, error) {
	return pg.Column[id.Participant](ctx, q, "waiting approvals", queryWaiting, id.Strings(agents))
}

// RoomsInWork are the rooms in which a run of the agent was resumed and is known to
// go on, at most 200.
func RoomsInWork(ctx context.Context, q pg.Querier, agent id.Participant) ([]id.Conversation, error) {
	return pg.Column[id.Conversation](ctx, q, "rooms of resumed runs", queryRoomsInWork, agent)
}

// Claim leases up to limit rows that this executor can resume.
func (q *Queue) Claim(ctx context.Context, db pg.Querier, agent id.Participant, ex id.Executor, limit int) ([]Waiting, error) {
	return q.rows.Claim(ctx, db, agent, ex, limit)
}

// HoldTx locks a row and proves that the executor holds it: claim.ErrLost else.
func (q *Queue) HoldTx(ctx context.Context, tx *pg.Tx, ex id.Executor, item id.QueueItem, generation int64) (Waiting, error) {
	return q.rows.Hold(ctx, tx, ex, claim.Held{ID: item, Generation: generation})
}

// ExtendTx is a sign of life of rows that the executor names; it returns those
// that it still holds.
func (q *Queue) ExtendTx(ctx context.Context, tx *pg.Tx, ex id.Executor, held []Waiting) error {
	_, err := q.rows.Extend(ctx, tx, ex, names(held)...)
	return err
}

// HeldBy lists what an executor holds.
func (q *Queue) HeldBy(ctx context.Context, db pg.Querier, agent id.Participant, ex id.Executor) ([]Waiting, error) {
	return q.rows.Claims(ctx, db, agent, ex)
}

// ReleaseTx gives rows back as if they had not been claimed.
func (q *Queue) ReleaseTx(ctx context.Context, tx *pg.Tx, ex id.Executor, rows ...Waiting) ([]Waiting, error) {
	open, err := q.rows.Release(ctx, tx, ex, names(rows)...)
	if err != nil {
		return nil, err
	}
	return open, unblame(ctx, tx, open)
}

// ReleaseUnseen gives back at start what nobody has taken notice of.
func (q *Queue) ReleaseUnseen(ctx context.Context, tx *pg.Tx) error {
	open, err := q.rows.ReleaseAllUnseen(ctx, tx)
	if err != nil {
		return err
	}
	return unblame(ctx, tx, open)
}

// LapsedTx locks rows whose lease is over. Each is to be reopened or removed in
// the same transaction.
func (q *Queue) LapsedTx(ctx context.Context, tx *pg.Tx) ([]Waiting, error) {
	return q.rows.Expire(ctx, tx)
}

// ReopenTx offers rows again; their attempt counts.
func (q *Queue) ReopenTx(ctx context.Context, tx *pg.Tx, rows ...Waiting) error {
	ids := make([]id.QueueItem, len(rows))
	for n, r := range rows {
		ids[n] = r.ID
	}
	_, err := q.rows.Reopen(ctx, tx, ids...)
	return err
}

// ToldTx ends a row: its run was told, or (failed) cannot be. A request is told
// once; executor and generation are kept so that the same answer may come again.
func (q *Queue) ToldTx(ctx context.Context, tx *pg.Tx, w Waiting, failed bool) error {
	if _, err := q.rows.Remove(ctx, tx, w.ID); err != nil {
		return err
	}
	if failed {
		return told(ctx, tx, w, "failed")
	}
	return told(ctx, tx, w, "resumed")
}

func told(ctx context.Context, tx *pg.Tx, w Waiting, outcome string) error {
	if _, err := tx.Exec(ctx, queryTold, w.ApprovalID, w.ExecutorID, w.ID, w.Generation, outcome); err != nil {
		return fmt.Errorf("mark approval told: %w", err)
	}
	return nil
}

// ToldAs is the request whose run was told by this row; nil when there is none.
func ToldAs(ctx context.Context, q pg.Querier, agent id.Participant, item id.QueueItem) (*Approval, error) {
	return one(ctx, q, "approval of queue row", queryByQueue, item, agent)
}

// IsRow reports that the row is in the agent's queue.
func IsRow(ctx context.Context, q pg.Querier, agent id.Participant, item id.QueueItem) (bool, error) {
	var owner id.Participant
	err := q.QueryRow(ctx, queryRowAgent, item).Scan(&owner)
	if pg.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read approval row: %w", err)
	}
	return owner == agent, nil
}

// StopTx ends the rows of a room, of one agent or, when it is zero, of all: their
// runs are not told any more. It returns them as they were.
func (q *Queue) StopTx(ctx context.Context, tx *pg.Tx, room id.Conversation, agent id.Participant) ([]Waiting, error) {
	return q.stop(ctx, tx, queryRowsOfRoom, room, agent)
}

// TakeOverTx ends the row of a decision that nobody holds: its run is gone, and another
// has taken its place. false when a bridge has it.
func (q *Queue) TakeOverTx(ctx context.Context, tx *pg.Tx, a Approval) (bool, error) {
	gone, err := q.stop(ctx, tx, queryRowOfApproval, a.ID)
	return len(gone) > 0, err
}

// StopTaskTx is StopTx for the run of a task.
func (q *Queue) StopTaskTx(ctx context.Context, tx *pg.Tx, t id.Task) ([]Waiting, error) {
	return q.stop(ctx, tx, queryRowsOfTask, t)
}

func (q *Queue) stop(ctx context.Context, tx *pg.Tx, sql string, args ...any) ([]Waiting, error) {
	ids, err := pg.Column[id.QueueItem](ctx, tx, "approval rows to stop", sql, args...)
	if err != nil {
		return nil, err
	}
	gone, err := q.rows.Remove(ctx, tx, ids...)
	if err != nil {
		return nil, err
	}
	for _, w := range gone {
		if err := told(ctx, tx, w, "failed"); err != nil {
			return nil, err
		}
	}
	return gone, nil
}

// TaskRun is what is decided of the run of a task that stopped at a request.
type TaskRun struct {
	Queued bool // the decision waits for its bridge, or has reached it
	Held   bool // it has reached it
}

// RunOfTask reads it.
func RunOfTask(ctx context.Context, q pg.Querier, t id.Task) (r TaskRun, err error) {
	if err := q.QueryRow(ctx, queryRunOfTask, t).Scan(&r.Queued, &r.Held); err != nil {
		return r, fmt.Errorf("decisions of task: %w", err)
	}
	return r, nil
}

// ForgetTx drops everything that an agent's runs wait for.
func ForgetTx(ctx context.Context, tx *pg.Tx, agent id.Participant) error {
	if _, err := tx.Exec(ctx, queryRemoveOf, agent); err != nil {
		return fmt.Errorf("drop approval rows: %w", err)
	}
	return nil
}

// Statements lists every statement of claiming, for the test that plans them.
func (q *Queue) Statements() []string { return q.rows.All() }

func unblame(ctx context.Context, tx *pg.Tx, rows []Waiting) error {
	if len(rows) == 0 {
		return nil
	}
	ids := make([]string, len(rows))
	for n, r := range rows {
		ids[n] = r.ID.String()
	}
	if _, err := tx.Exec(ctx, queryUnblame, ids); err != nil {
		return fmt.Errorf("take attempt back: %w", err)
	}
	return nil
}

func names(rows []Waiting) []claim.Held {
	out := make([]claim.Held, len(rows))
	for n, r := range rows {
		out[n] = claim.Held{ID: r.ID, Generation: r.Generation}
	}
	return out
}
