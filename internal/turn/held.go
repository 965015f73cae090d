package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// HeldByTx locks every row that the executor holds, oldest first.
func HeldByTx(ctx context.Context, tx *pg.Tx, agent id.Participant, ex id.Executor) ([]Claim, error) {
	return many(ctx, tx, "claims of executor", queryHeldBy, agent, ex)
}

// InRoomTx locks the rows of a room, held or waiting, of one agent or, when agent
// is zero, of all.
func InRoomTx(ctx context.Context, tx *pg.Tx, conv id.Conversation, agent id.Participant) ([]Claim, error) {
	return many(ctx, tx, "rows of room", queryHeldInRoom, conv, agent)
}

// WaitingRowsTx locks the rows in which a message waits, one per agent.
func WaitingRowsTx(ctx context.Context, tx *pg.Tx, msg id.Message) ([]Claim, error) {
	return many(ctx, tx, "rows of message", queryWaitingRows, msg)
}

// OfAgent lists the agent's rows, oldest first, at most limit.
func OfAgent(ctx context.Context, q pg.Querier, agent id.Participant, limit int) ([]Claim, error) {
	return many(ctx, q, "rows of agent", queryOfAgent, agent, limit)
}

// Unseen lists claims that nobody has confirmed; for the start of the server.
func Unseen(ctx context.Context, q pg.Querier, limit int) ([]Claim, error) {
	return many(ctx, q, "unseen claims", queryUnseen, limit)
}

// Heads lists the turns that the executor holds by their heads, one per room.
func Heads(ctx context.Context, q pg.Querier, agent id.Participant, ex id.Executor) ([]Claim, error) {
	return many(ctx, q, "turns of executor", queryHeads, agent, ex)
}

// AgentsWaitingFor lists the agents for which the message still waits.
func AgentsWaitingFor(ctx context.Context, q pg.Querier, conv id.Conversation, msg id.Message) ([]id.Participant, error) {
	return agentIDs(ctx, q, queryWaitingFor, conv, msg)
}

// Behind is a message that waits behind the turn that an executor runs in the
// same room.
type Behind struct {
	AgentID    id.Participant
	QueueID    id.QueueItem
	ExecutorID id.Executor
}

// RunningBefore lists the running turns behind which the message waits.
func RunningBefore(ctx context.Context, q pg.Querier, conv id.Conversation, msg id.Message) ([]Behind, error) {
	return pg.Rows[Behind](ctx, q, "list running turns", queryBehind, conv, msg)
}

// RoomsInWork are the rooms in which the agent is known to work, at most 200.
func RoomsInWork(ctx context.Context, q pg.Querier, agent id.Participant) ([]id.Conversation, error) {
	return pg.Column[id.Conversation](ctx, q, "list rooms in work", queryRoomsInWork, agent)
}

// Holders lists the agents that hold claims; for the start of the server.
func Holders(ctx context.Context, q pg.Querier) ([]id.Participant, error) {
	return agentIDs(ctx, q, queryHolders)
}

// Waiting lists those of the agents that have a message waiting.
func Waiting(ctx context.Context, q pg.Querier, agents []id.Participant) ([]id.Participant, error) {
	if len(agents) == 0 {
		return nil, nil
	}
	return agentIDs(ctx, q, queryWaiting, id.Strings(agents))
}

// InFlight counts the turns that the executor holds.
func InFlight(ctx context.Context, q pg.Querier, agent id.Participant, ex id.Executor) (n int, err error) {
	if err := q.QueryRow(ctx, queryInFlight, agent, ex).Scan(&n); err != nil {
		return 0, fmt.Errorf("count turns: %w", err)
	}
	return n, nil
}

// CountWaiting counts the agent's waiting messages.
func CountWaiting(ctx context.Context, q pg.Querier, agent id.Participant) (n int, err error) {
	if err := q.QueryRow(ctx, queryWaitingCount, agent).Scan(&n); err != nil {
		return 0, fmt.Errorf("count waiting: %w", err)
	}
	return n, nil
}

// WaitingInRoom lists the messages that wait for the agent in a room, oldest first.
func WaitingInRoom(ctx context.Context, q pg.Querier, agent id.Participant, conv id.Conversation) ([]id.Message, error) {
	return pg.Column[id.Message](ctx, q, "list waiting", queryWaitingInRoom, agent, conv)
}

// Lapsed lists heads of turns of these agents whose lease, or whose whole time
// most, is over. They are not locked: look again with StillLapsedTx.
func Lapsed(ctx context.Context, q pg.Querier, agents []id.Participant, most time.Duration) ([]Claim, error) {
	if len(agents) == 0 {
		return nil, nil
	}
	return many(ctx, q, "lapsed claims", queryLapsed, id.Strings(agents), most.Seconds())
}

// StillLapsedTx reports, for a locked row, that its time is over.
func StillLapsedTx(ctx context.Context, tx *pg.Tx, q id.QueueItem, most time.Duration) (over bool, err error) {
	err = tx.QueryRow(ctx, queryLease, q, most.Seconds()).Scan(&over)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at lease: %w", err)
	}
	return over, nil
}

// ReleaseTx gives rows back to the queue, with their place in it. Refund says
// that this attempt does not count: the work was never begun. Answered rows stay
// as they are: they are to be finished.
func ReleaseTx(ctx context.Context, tx *pg.Tx, claims []Claim, refund bool) error {
	if len(claims) == 0 {
		return nil
	}
	back := 0
	if refund {
		back = 1
	}
	if _, err := tx.Exec(ctx, queryRelease, ids(claims), back); err != nil {
		return fmt.Errorf("release claims: %w", err)
	}
	return nil
}

func agentIDs(ctx context.Context, q pg.Querier, sql string, args ...any) ([]id.Participant, error) {
	return pg.Column[id.Participant](ctx, q, "list agents", sql, args...)
}
