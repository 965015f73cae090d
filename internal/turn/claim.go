package turn

import (
	"context"
	"fmt"
	"time"

	"github.com/agntchat/agntchat/internal/claim"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Queue claims messages. It is immutable; make one per server.
type Queue struct {
	rows  *claim.Queue[row]
	Lease time.Duration // life of a claim after its last sign
	Most  time.Duration // life of a claim in all
}

type row struct {
	claim.Row
	MessageID    id.Message
	AnswerID     id.Message
	StaleRefused bool
	PassedReason *string
}

func (r row) toClaim() Claim {
	return Claim{
		QueueID: r.ID, AgentID: r.AgentID, ConversationID: r.ConversationID, MessageID: r.MessageID, QueuedAt: r.InsertedAt,
		ExecutorID: r.ExecutorID, Generation: r.Generation, Attempt: r.Attempt, LeaseUntil: r.LeaseUntil, ClaimedAt: r.ClaimedAt,
		SeenAt: r.SeenAt, AnsweredAt: r.AnsweredAt, AnswerID: r.AnswerID, StaleRefused: r.StaleRefused, PassedReason: r.PassedReason,
	}
}

// NewQueue makes the queue of messages. barred is a condition under which a row c
// waits, "" for none: the agent runs something else in its conversation.
func NewQueue(lease, most time.Duration, barred string) *Queue {
	return &Queue{Lease: lease, Most: most, rows: claim.New[row](claim.Table{
		Name: "queued_messages", Payload: []string{"message_id", "answer_id", "stale_refused", "passed_reason"}, Lease: lease, MaxLease: most, Barred: barred,
	})}
}

// HeldIn is the condition that an agent has a turn in flight in a conversation, over
// two expressions of a statement.
func HeldIn(agent, conversation string) string {
	return `EXISTS (SELECT 1 FROM queued_messages h WHERE h.conversation_id = ` + conversation + ` AND h.agent_id = ` + agent + ` AND h.lease_until IS NOT NULL)`
}

// ClaimTx leases the work of up to limit conversations to an executor, in order
// and at most one turn per conversation. Each element is one turn, oldest row
// first, its head last. With merge everything that waits in a conversation
// becomes one turn; else a turn has one row.
func (q *Queue) ClaimTx(ctx context.Context, tx *pg.Tx, agent id.Participant, ex id.Executor, limit int, merge bool) ([][]Claim, error) {
	if !merge {
		rows, err := q.rows.Claim(ctx, tx, agent, ex, limit)
		if err != nil {
			return nil, fmt.Errorf("claim messages: %w", err)
		}
		out := make([][]Claim, len(rows))
		for n, r := range rows {
			out[n] = []Claim{r.toClaim()}
		}
		return out, nil
	}
	turns, err := q.rows.ClaimMerged(ctx, tx, agent, ex, limit)
	if err != nil {
		return nil, fmt.Errorf("claim messages: %w", err)
	}
	out := make([][]Claim, len(turns))
	for n, t := range turns {
		out[n] = append(out[n], t.First.toClaim())
		for _, m := range t.Merged {
			out[n] = append(out[n], m.toClaim())
		}
	}
	return out, nil
}

// ExtendTx counts as a sign of life of a turn: its rows are seen and live Lease
// longer, never beyond Most after the claim. ErrLost when the executor does not
// hold it.
func (q *Queue) ExtendTx(ctx context.Context, tx *pg.Tx, ex id.Executor, group []Claim) error {
	held := make([]claim.Held, len(group))
	for n, c := range group {
		held[n] = claim.Held{ID: c.QueueID, Generation: c.Generation}
	}
	rows, err := q.rows.Extend(ctx, tx, ex, held...)
	if err != nil {
		return fmt.Errorf("extend turn: %w", err)
	}
	if len(rows) == 0 {
		return ErrLost
	}
	return nil
}

// Statements lists every statement of claiming, for the test that plans them.
func (q *Queue) Statements() []string { return q.rows.All() }
