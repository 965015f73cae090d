package view

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Receipt says what became of a message with one agent (decision 19). It is
// derived from the queue row while there is one, else from the turn.
type Receipt struct {
	MessageID  id.Message
	AgentID    id.Participant
	AgentName  string
	State      string // accepted | claimed | working | answered | merged | passed | unanswered | failed | expired | stopped; of an inbox: waiting | read | stopped
	ErrorCode  *string
	AnswerID   id.Message
	MergedInto id.Message
	At         time.Time
}

// A room has seldom more than a few agents; the answer is bounded all the same.
const receiptsSQL = `SELECT r.message_id, r.agent_id, p.display_name AS agent_name, r.state, r.error_code, r.answer_id, r.merged_into, r.at FROM (
		SELECT q.message_id, q.agent_id, CASE WHEN q.answered_at IS NOT NULL THEN CASE WHEN q.passed_reason IS NULL THEN 'answered' ELSE 'passed' END
			WHEN q.lease_until IS NULL THEN 'accepted' WHEN q.seen_at IS NULL THEN 'claimed' ELSE 'working' END AS state,
			NULL::text AS error_code, q.answer_id, NULL::uuid AS merged_into,
			coalesce(q.answered_at, q.seen_at, q.claimed_at, q.inserted_at) AS at
		FROM queued_messages q WHERE q.conversation_id = $1::uuid AND q.message_id = ANY($2::uuid[])
		UNION ALL
		SELECT t.message_id, t.agent_id, t.outcome, t.error_code, t.answer_id, t.merged_into, t.ended_at
		FROM turns t WHERE t.conversation_id = $1::uuid AND t.message_id = ANY($2::uuid[])
		UNION ALL
		SELECT i.message_id, i.agent_id, CASE WHEN i.read_at IS NULL THEN 'waiting' WHEN i.close_reason IS NULL THEN 'read' ELSE 'stopped' END,
			i.close_reason, NULL, NULL, coalesce(i.read_at, i.inserted_at)
		FROM inbox_items i WHERE i.message_id = ANY($2::uuid[]) AND i.conversation_id = $1::uuid
	) r JOIN participants p ON p.id = r.agent_id ORDER BY r.at, r.message_id, r.agent_id LIMIT 500`

const recentAskedSQL = `SELECT m.id FROM messages m WHERE m.conversation_id = $1::uuid AND m.deleted_at IS NULL ORDER BY m.seq DESC LIMIT 100`

// Receipts are the receipts of these messages of a room, or of its newest hundred
// messages when none are named; at most 500.
func Receipts(ctx context.Context, q pg.Querier, c id.Conversation, ids []id.Message) ([]Receipt, error) {
	if len(ids) == 0 {
		rows, err := q.Query(ctx, recentAskedSQL, c)
		if err != nil {
			return nil, fmt.Errorf("list receipts: %w", err)
		}
		if ids, err = pgx.CollectRows(rows, pgx.RowTo[id.Message]); err != nil {
			return nil, fmt.Errorf("list receipts: %w", err)
		}
	}
	var b pg.Batch
	var out []Receipt
	AddReceipts(&b, c, ids, &out)
	if err := pg.Run(ctx, q, &b); err != nil {
		return nil, fmt.Errorf("list receipts: %w", err)
	}
	return out, nil
}

// AddReceipts reads the receipts of these messages of a room in a batch.
func AddReceipts(b *pg.Batch, c id.Conversation, ids []id.Message, into *[]Receipt) {
	b.Add(pg.ReadAll(into), receiptsSQL, c, id.Strings(ids))
}
