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
// it ended, else those of the turns that ran at that moment. Tasks are those at which
// an agent that answered nothing worked then, with the person for whom.
type Cause struct {
	SenderID   id.Participant
	SenderKind string // human | agent | system
	OwnerID    id.Participant
	Triggers   []id.Message
	Tasks      []TaskCause
}

// TaskCause is a task in whose run a message was written.
type TaskCause struct {
	TaskID      id.Task
	RequesterID id.Participant
}

const (
	causeSQL = `SELECT m.sender_id, m.sender_kind, a.owner_id, m.inserted_at, m.turn_group_id FROM messages m LEFT JOIN agents a ON a.id = m.sender_id WHERE m.id = $1::uuid`

	answeredSQL = `SELECT t.message_id FROM turns t WHERE t.answer_id = $1::uuid LIMIT 20`

	// What a turn said in another room, or before its answer.
	groupSQL = `SELECT t.message_id FROM turns t WHERE t.queue_id = $1::uuid AND t.agent_id = $2::uuid
		UNION SELECT q.message_id FROM queued_messages q WHERE q.id = $1::uuid AND q.agent_id = $2::uuid`

	runningSQL = `(SELECT t.message_id FROM turns t WHERE t.agent_id = $1::uuid AND t.ended_at >= $2::timestamptz AND t.started_at <= $2::timestamptz LIMIT 20)
		UNION (SELECT q.message_id FROM queued_messages q WHERE q.agent_id = $1::uuid AND q.lease_until IS NOT NULL AND q.claimed_at <= $2::timestamptz LIMIT 20)`

	// The result of a task, or what its run said on the way.
	workedSQL = `(SELECT t.id, t.requester_id FROM messages m JOIN tasks t
			ON t.id = CASE WHEN m.metadata ->> 'task_report' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' THEN (m.metadata ->> 'task_report')::uuid END WHERE m.id = $3::uuid)
		UNION (SELECT t.id, t.requester_id FROM task_assignees a JOIN tasks t ON t.id = a.task_id
			WHERE a.participant_id = $1::uuid AND t.started_at <= $2::timestamptz AND (t.ended_at IS NULL OR t.ended_at >= $2::timestamptz)
			AND (SELECT e.to_status FROM task_events e WHERE e.task_id = t.id AND e.to_status IS NOT NULL AND e.inserted_at <= $2::timestamptz
				ORDER BY e.id DESC LIMIT 1) IN ('accepted', 'in_progress') LIMIT 20)`
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
	if err == nil && len(c.Triggers) == 0 {
		c.Tasks, err = taskCauses(ctx, q, c.SenderID, at, msg)
	}
	return c, err == nil, err
}

func taskCauses(ctx context.Context, q pg.Querier, agent id.Participant, at time.Time, msg id.Message) ([]TaskCause, error) {
	rows, err := q.Query(ctx, workedSQL, agent, at, msg)
	if err != nil {
		return nil, fmt.Errorf("list tasks of message: %w", err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[TaskCause])
	if err != nil {
		return nil, fmt.Errorf("list tasks of message: %w", err)
	}
	return out, nil
}

// TurnMessage is one of the messages that a turn answers. SenderKind is empty when it
// was deleted. Decides says that it tells what was decided about a tool of the server.
type TurnMessage struct {
	ID         id.Message
	SenderID   id.Participant
	SenderKind string
	Decides    bool
}

const turnMessageColumns = `m.sender_id, coalesce(m.sender_kind, '') AS sender_kind, coalesce(m.metadata #> '{decision,permission_request_id}' IS NOT NULL, false) AS decides`

// What one turn answers was claimed together, and ended together.
const turnMessagesSQL = `SELECT x.message_id AS id, ` + turnMessageColumns + ` FROM (
	SELECT g.message_id FROM queued_messages h JOIN queued_messages g ON g.conversation_id = h.conversation_id AND g.agent_id = h.agent_id
		AND (g.id = h.id OR (h.lease_until IS NOT NULL AND g.lease_until IS NOT NULL AND g.executor_id = h.executor_id AND g.claimed_at = h.claimed_at))
	WHERE h.agent_id = $1::uuid AND h.message_id = $2::uuid AND (h.lease_until IS NOT NULL OR h.generation > 0)
	UNION
	SELECT g.message_id FROM turns h JOIN turns g ON g.agent_id = h.agent_id AND g.ended_at = h.ended_at AND g.conversation_id = h.conversation_id
		AND g.started_at IS NOT DISTINCT FROM h.started_at
	WHERE h.agent_id = $1::uuid AND h.message_id = $2::uuid) x LEFT JOIN messages m ON m.id = x.message_id LIMIT 500`

// MessagesOfTurn are all messages that the agent answers, or has answered, in its turn
// about this one: also in a turn that was taken from it, for what ran there may still
// be running. None: it has no such turn.
func MessagesOfTurn(ctx context.Context, q pg.Querier, agent id.Participant, msg id.Message) ([]TurnMessage, error) {
	return pg.Rows[TurnMessage](ctx, q, "look for turn", turnMessagesSQL, agent, msg)
}

// The call that was held is recorded beside its request.
const heldCallSQL = `SELECT c.message_id, c.task_id FROM messages m
	JOIN approvals a ON a.agent_id = $1::uuid AND a.id = CASE WHEN m.metadata #>> '{decision,permission_request_id}' ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$'
		THEN (m.metadata #>> '{decision,permission_request_id}')::uuid END
	JOIN tool_calls c ON c.agent_id = a.agent_id AND c.approval_id = a.id AND c.inserted_at BETWEEN a.inserted_at AND a.inserted_at + interval '5 minutes'
	WHERE m.id = $2::uuid LIMIT 1`

// HeldCall is the turn, or the task, in which the call was made about which a message tells
// what was decided; zero ones when it is not known.
func HeldCall(ctx context.Context, q pg.Querier, agent id.Participant, decision id.Message) (m id.Message, t id.Task, err error) {
	err = q.QueryRow(ctx, heldCallSQL, agent, decision).Scan(&m, &t)
	if err != nil && !pg.IsNotFound(err) {
		return m, t, fmt.Errorf("look for call that was held: %w", err)
	}
	return m, t, nil
}

// A run that was resumed after a decision has that for its delivery, and goes on with
// the turn in which it asked.
const runMessageSQL = `WITH RECURSIVE chain (item) AS (
	SELECT $2::uuid
	UNION
	SELECT a.turn_queue_id FROM chain c CROSS JOIN LATERAL (
		SELECT x.agent_id, x.turn_queue_id FROM approvals x WHERE x.id = (SELECT w.approval_id FROM queued_approvals w WHERE w.id = c.item)
		UNION ALL SELECT y.agent_id, y.turn_queue_id FROM approvals y WHERE y.told_queue_id = c.item) a
	WHERE a.agent_id = $1::uuid AND a.turn_queue_id IS NOT NULL)
	SELECT q.message_id FROM chain c JOIN queued_messages q ON q.id = c.item AND q.agent_id = $1::uuid
	UNION ALL SELECT t.message_id FROM chain c JOIN turns t ON t.queue_id = c.item AND t.agent_id = $1::uuid LIMIT 1`

// MessageOfRun is what the run of a delivery answers; zero for that of a task.
func MessageOfRun(ctx context.Context, q pg.Querier, agent id.Participant, item id.QueueItem) (m id.Message, err error) {
	err = q.QueryRow(ctx, runMessageSQL, agent, item).Scan(&m)
	if err != nil && !pg.IsNotFound(err) {
		return m, fmt.Errorf("look for turn of run: %w", err)
	}
	return m, nil
}

// The words of a task come from above: from who made it, in which turn, and from the
// tasks that it is a part of or another try of. What its run reads comes from below: the
// results of its parts and of what it depends on.
const taskTaintedSQL = `WITH RECURSIVE above AS (
		SELECT t.id, t.parent_task_id, t.retry_of, t.created_by, t.source_message_id FROM tasks t WHERE t.id = $2::uuid
		UNION SELECT p.id, p.parent_task_id, p.retry_of, p.created_by, p.source_message_id FROM above a JOIN tasks p ON p.id = a.parent_task_id OR p.id = a.retry_of),
	below AS (
		SELECT t.id, t.depends_on FROM tasks t WHERE t.id = $2::uuid
		UNION SELECT c.id, c.depends_on FROM below b JOIN tasks c ON (c.parent_task_id = b.id OR c.id = ANY(b.depends_on)) AND c.end_kind IS NOT NULL)
	SELECT EXISTS (SELECT 1 FROM above a JOIN agents g ON g.id = a.created_by WHERE g.owner_id <> $1::uuid)
		OR EXISTS (SELECT 1 FROM above a JOIN tool_calls c ON c.untrusted AND c.agent_id = a.created_by AND c.message_id = a.source_message_id)
		OR EXISTS (SELECT 1 FROM below b JOIN task_assignees s ON s.task_id = b.id JOIN agents g ON g.id = s.participant_id WHERE g.owner_id <> $1::uuid)
		OR EXISTS (SELECT 1 FROM (SELECT id FROM above UNION SELECT id FROM below) t JOIN task_assignees s ON s.task_id = t.id
			JOIN tool_calls c ON c.untrusted AND c.agent_id = s.participant_id AND c.task_id = t.id)`

// TaskTainted reports that text which neither people of the room nor agents of this
// owner wrote has entered a task: its words, a run of it, or the results that it was told.
func TaskTainted(ctx context.Context, q pg.Querier, owner id.Participant, t id.Task) (yes bool, err error) {
	if err := q.QueryRow(ctx, taskTaintedSQL, owner, t).Scan(&yes); err != nil {
		return false, fmt.Errorf("read mark of task: %w", err)
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

const openMessagesSQL = `SELECT q.message_id AS id, ` + turnMessageColumns + ` FROM queued_messages q LEFT JOIN messages m ON m.id = q.message_id
	WHERE q.agent_id = $1::uuid AND q.lease_until IS NOT NULL ORDER BY q.seq LIMIT 500`

// OpenMessages are what the agent's open turns answer, in whatever rooms.
func OpenMessages(ctx context.Context, q pg.Querier, agent id.Participant) ([]TurnMessage, error) {
	return pg.Rows[TurnMessage](ctx, q, "look for open turns", openMessagesSQL, agent)
}

func messageIDs(ctx context.Context, q pg.Querier, sql string, args ...any) ([]id.Message, error) {
	return pg.Column[id.Message](ctx, q, "list triggers", sql, args...)
}

const listensSQL = `WITH RECURSIVE source (id, parent) AS (
		SELECT c.id, c.parent_conversation_id FROM conversations c WHERE c.id = $2::uuid
		UNION SELECT c.id, c.parent_conversation_id FROM source JOIN conversations c ON c.id = source.parent),
	heard (id, parent) AS (
		SELECT c.id, c.parent_conversation_id FROM conversations c WHERE c.id = $1::uuid
		UNION SELECT c.id, c.parent_conversation_id FROM heard JOIN conversations c ON c.id = heard.parent)
	SELECT EXISTS (SELECT 1 FROM heard JOIN conversation_members m ON m.conversation_id = heard.id LEFT JOIN agents a ON a.id = m.participant_id
		WHERE a.owner_id IS DISTINCT FROM $3::uuid
		AND NOT EXISTS (SELECT 1 FROM source JOIN conversation_members n ON n.conversation_id = source.id AND n.participant_id = m.participant_id))`

// ListensOutside reports that somebody may read in a room what was said in another one
// that they cannot look into: a member of the first or of a room above it, other than the
// agents of this owner.
func ListensOutside(ctx context.Context, q pg.Querier, room, source id.Conversation, owner id.Participant) (yes bool, err error) {
	if err := q.QueryRow(ctx, listensSQL, room, source, owner).Scan(&yes); err != nil {
		return false, fmt.Errorf("look who listens: %w", err)
	}
	return yes, nil
}
