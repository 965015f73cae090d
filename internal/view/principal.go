package view

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Cause is a message in the chain that led to a turn. Triggers are the messages
// that its author, an agent, was answering when it wrote: those of the turn that
// it ended, else those of the turns that ran at that moment.
type Cause struct {
	SenderID   id.Participant
	SenderKind string // human | agent | system
	OwnerID    id.Participant
	Triggers   []id.Message
}

const (
	causeSQL = `SELECT m.sender_id, m.sender_kind, a.owner_id, m.inserted_at, m.turn_group_id FROM messages m LEFT JOIN agents a ON a.id = m.sender_id WHERE m.id = $1::uuid`

	answeredSQL = `SELECT t.message_id FROM turns t WHERE t.answer_id = $1::uuid LIMIT 20`

	// What a turn said in another room, or before its answer.
	groupSQL = `SELECT t.message_id FROM turns t WHERE t.queue_id = $1::uuid AND t.agent_id = $2::uuid
		UNION SELECT q.message_id FROM queued_messages q WHERE q.id = $1::uuid AND q.agent_id = $2::uuid`

	runningSQL = `(SELECT t.message_id FROM turns t WHERE t.agent_id = $1::uuid AND t.ended_at >= $2::timestamptz AND t.started_at <= $2::timestamptz LIMIT 20)
		UNION (SELECT q.message_id FROM queued_messages q WHERE q.agent_id = $1::uuid AND q.lease_until IS NOT NULL AND q.claimed_at <= $2::timestamptz LIMIT 20)`
)

// CauseOf reads why a message was written; ok is false when it is gone.
func CauseOf(ctx context.Context, q pg.Querier, msg id.Message) (c Cause, ok bool, err error) {
	var at time.Time
	var group *string
	err = q.QueryRow(ctx, causeSQL, msg).Scan(&c.SenderID, &c.SenderKind, &c.OwnerID, &at, &group)
	switch {
	case pg.IsNotFound(err):
		return Cause{}, false, nil
	case err != nil:
		return Cause{}, false, fmt.Errorf("read cause of message: %w", err)
	case c.SenderKind != "agent":
		return c, true, nil
	}
	if c.Triggers, err = messageIDs(ctx, q, answeredSQL, msg); err == nil && len(c.Triggers) == 0 {
		c.Triggers, err = messageIDs(ctx, q, runningSQL, c.SenderID, at)
	}
	if err == nil && group != nil {
		if item, bad := id.Parse[id.QueueItem](*group); bad == nil {
			var said []id.Message
			said, err = messageIDs(ctx, q, groupSQL, item, c.SenderID)
			c.Triggers = append(c.Triggers, said...)
		}
	}
	return c, err == nil, err
}

const turnMessageSQL = `SELECT EXISTS (SELECT 1 FROM queued_messages q WHERE q.agent_id = $1::uuid AND q.message_id = $2::uuid AND (q.lease_until IS NOT NULL OR q.generation > 0))
	OR EXISTS (SELECT 1 FROM turns t WHERE t.agent_id = $1::uuid AND t.message_id = $2::uuid)`

// HadTurn reports that the agent works, or has worked, at a turn about the message: also at
// one that was taken from it, for what ran there may still be running.
func HadTurn(ctx context.Context, q pg.Querier, agent id.Participant, msg id.Message) (yes bool, err error) {
	if err := q.QueryRow(ctx, turnMessageSQL, agent, msg).Scan(&yes); err != nil {
		return false, fmt.Errorf("look for turn: %w", err)
	}
	return yes, nil
}

const workMessageSQL = `SELECT EXISTS (SELECT 1 FROM messages m JOIN tasks t ON t.id = $2::uuid WHERE m.id = $1::uuid
	AND m.conversation_id = t.work_conversation_id AND t.conversation_id <> t.work_conversation_id)`

// SaidAtWork reports that a message was written in the task's own work room: a turn
// about it is talk beside the run of the task.
func SaidAtWork(ctx context.Context, q pg.Querier, msg id.Message, t id.Task) (yes bool, err error) {
	if err := q.QueryRow(ctx, workMessageSQL, msg, t).Scan(&yes); err != nil {
		return false, fmt.Errorf("look for work room: %w", err)
	}
	return yes, nil
}

const openMessageSQL = `SELECT q.message_id FROM queued_messages q WHERE q.agent_id = $1::uuid AND q.conversation_id = $2::uuid AND q.lease_until IS NOT NULL
	ORDER BY q.claimed_at DESC, q.seq DESC LIMIT 1`

// OpenMessage is what the agent's open turn in the room answers; zero without one.
func OpenMessage(ctx context.Context, q pg.Querier, agent id.Participant, room id.Conversation) (m id.Message, err error) {
	err = q.QueryRow(ctx, openMessageSQL, agent, room).Scan(&m)
	if pg.IsNotFound(err) {
		return m, nil
	}
	if err != nil {
		return m, fmt.Errorf("look for open turn: %w", err)
	}
	return m, nil
}

func messageIDs(ctx context.Context, q pg.Querier, sql string, args ...any) ([]id.Message, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, fmt.Errorf("list triggers: %w", err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[id.Message])
	if err != nil {
		return nil, fmt.Errorf("list triggers: %w", err)
	}
	return out, nil
}
