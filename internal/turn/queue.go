package turn

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// AddEnqueue puts the items into the queue. A pair of agent and message that is
// there already, or whose turn is over, is left alone.
func AddEnqueue(b *pg.Batch, items []NewItem) {
	switch len(items) {
	case 0:
		return
	case 1:
		b.Add(nil, queryEnqueueOne, items[0].AgentID, items[0].ConversationID, items[0].MessageID)
		return
	}
	agents, rooms, messages := make([]string, len(items)), make([]string, len(items)), make([]string, len(items))
	for n, i := range items {
		agents[n], rooms[n], messages[n] = i.AgentID.String(), i.ConversationID.String(), i.MessageID.String()
	}
	b.Add(nil, queryEnqueue, agents, rooms, messages)
}

// OpenClaimTx is the one claim that the agent holds in the room, its head when it
// answers several messages, locked; nil when it holds none.
func OpenClaimTx(ctx context.Context, tx *pg.Tx, agent id.Participant, conv id.Conversation) (*Claim, error) {
	return one(ctx, tx, "open claim", queryOpenClaim, agent, conv)
}

// AddOpenClaim is OpenClaimTx in a batch; into stays nil when there is none.
func AddOpenClaim(b *pg.Batch, agent id.Participant, conv id.Conversation, into **Claim) {
	var c Claim
	var found bool
	read := pg.ReadOne(&c, &found)
	b.Add(func(rows pgx.Rows) error {
		err := read(rows)
		if found {
			*into = &c
		}
		return err
	}, queryOpenClaim, agent, conv)
}

// LockTx reads and locks one row; nil when it is gone.
func LockTx(ctx context.Context, tx *pg.Tx, q id.QueueItem) (*Claim, error) {
	return one(ctx, tx, "lock queue row", queryLockRow, q)
}

// Get reads one row; nil when it is gone.
func Get(ctx context.Context, q pg.Querier, item id.QueueItem) (*Claim, error) {
	return one(ctx, q, "read queue row", queryRow, item)
}

// LockGroupTx locks all rows of the turn that q belongs to, oldest first, the
// head last; empty when q is not claimed.
func LockGroupTx(ctx context.Context, tx *pg.Tx, q id.QueueItem) ([]Claim, error) {
	return many(ctx, tx, "lock turn", queryLockGroup, q)
}

// AddLockGroup is LockGroupTx in a batch.
func AddLockGroup(b *pg.Batch, q id.QueueItem, into *[]Claim) {
	b.Add(pg.ReadAll(into), queryLockGroup, q)
}

// LockOpenGroupTx locks all rows of the turn that the agent runs in the room, oldest
// first, the head last; empty when it runs none.
func LockOpenGroupTx(ctx context.Context, tx *pg.Tx, agent id.Participant, conv id.Conversation) ([]Claim, error) {
	return many(ctx, tx, "lock open turn", queryLockOpenGroup, agent, conv)
}

// AddMarkAnswered records that a final message of this turn is stored (decision
// 14): all its rows are then closed at expiry and never delivered again.
func AddMarkAnswered(b *pg.Batch, q id.QueueItem, answer id.Message) {
	b.Add(nil, queryMarkAnswered, q, answer)
}

// MarkAnsweredTx is AddMarkAnswered at once.
func MarkAnsweredTx(ctx context.Context, tx *pg.Tx, q id.QueueItem, answer id.Message) error {
	if _, err := tx.Exec(ctx, queryMarkAnswered, q, answer); err != nil {
		return fmt.Errorf("mark answered: %w", err)
	}
	return nil
}

// MarkPassedTx is AddMarkPassed at once.
func MarkPassedTx(ctx context.Context, tx *pg.Tx, q id.QueueItem, reason string) error {
	if _, err := tx.Exec(ctx, queryMarkPassed, q, reason); err != nil {
		return fmt.Errorf("mark passed: %w", err)
	}
	return nil
}

// AddMarkPassed records a silent end of the turn (end_turn): like an answer, but
// without a message.
func AddMarkPassed(b *pg.Batch, q id.QueueItem, reason string) {
	b.Add(nil, queryMarkPassed, q, reason)
}

// MarkStaleRefusedTx records the one refusal of a stale draft that a claim may
// have (decision 18). The caller commits it although nothing else is stored.
func MarkStaleRefusedTx(ctx context.Context, tx *pg.Tx, q id.QueueItem) error {
	if _, err := tx.Exec(ctx, queryMarkStale, q); err != nil {
		return fmt.Errorf("mark stale: %w", err)
	}
	return nil
}

func ids(claims []Claim) []string {
	out := make([]string, len(claims))
	for n := range claims {
		out[n] = claims[n].QueueID.String()
	}
	return out
}

func one(ctx context.Context, q pg.Querier, what, sql string, args ...any) (*Claim, error) {
	all, err := many(ctx, q, what, sql, args...)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

func many(ctx context.Context, q pg.Querier, what, sql string, args ...any) ([]Claim, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByName[Claim])
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return out, nil
}
