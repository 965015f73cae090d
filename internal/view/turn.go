package view

import (
	"context"
	"fmt"
	"time"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// FinishedTurn is a turn as the agent page shows it.
type FinishedTurn struct {
	ID              id.Turn
	ConversationID  id.Conversation
	MessageID       id.Message
	AnswerID        id.Message
	Outcome         string
	ErrorCode       *string
	ErrorMessage    *string
	Model           *string
	Backend         *string
	ToolCalls       int
	InputTokens     int64
	OutputTokens    int64
	CacheReadTokens int64
	DurationMS      *int64 `db:"duration_ms"`
	QueuedAt        time.Time
	StartedAt       *time.Time
	EndedAt         time.Time
}

const turnsSQL = `SELECT t.id, t.conversation_id, t.message_id, t.answer_id, t.outcome, t.error_code, t.error_message, t.model, t.backend,
	t.tool_calls, t.input_tokens, t.output_tokens, t.cache_read_tokens, t.duration_ms, t.queued_at, t.started_at, t.ended_at
	FROM turns t WHERE t.agent_id = $1::uuid AND ($2::timestamptz IS NULL OR t.ended_at < $2::timestamptz OR t.ended_at = $2::timestamptz AND t.id > $5::uuid)
	AND ($4::uuid IS NULL OR EXISTS (SELECT 1 FROM conversation_members s WHERE s.conversation_id = t.conversation_id AND s.participant_id = $4::uuid))
	ORDER BY t.ended_at DESC, t.id LIMIT $3::integer`

// FinishedTurns are an agent's turns, newest first, below a mark (endedAt).
// With a viewer only those in rooms that the viewer is a member of.
func FinishedTurns(ctx context.Context, q pg.Querier, agent id.Participant, below Mark[id.Turn], limit int, viewer id.Participant) ([]FinishedTurn, error) {
	return pg.Rows[FinishedTurn](ctx, q, "list turns", turnsSQL, agent, below.At, limit, viewer, below.ID)
}

// AgentOwner is what an agent is told about its owner.
type AgentOwner struct {
	Name     string
	Timezone *string
}

const agentOwnerSQL = `SELECT p.display_name AS name, a.timezone FROM accounts a JOIN participants p ON p.id = a.id
	WHERE a.id = (SELECT g.owner_id FROM agents g WHERE g.id = $1::uuid)`

// OwnerOf reads it; fault.ErrNotFound when the account is gone.
func OwnerOf(ctx context.Context, q pg.Querier, agent id.Participant) (o AgentOwner, err error) {
	err = q.QueryRow(ctx, agentOwnerSQL, agent).Scan(&o.Name, &o.Timezone)
	if pg.IsNotFound(err) {
		return o, fault.ErrNotFound
	}
	if err != nil {
		return o, fmt.Errorf("read owner: %w", err)
	}
	return o, nil
}

// Kin is another agent of the same owner.
type Kin struct {
	ID   id.Participant
	Name string
}

const familySQL = `SELECT a.id, p.display_name AS name FROM agents a JOIN participants p ON p.id = a.id AND p.status = 'active'
	WHERE a.owner_id = (SELECT g.owner_id FROM agents g WHERE g.id = $1::uuid) AND a.id <> $1::uuid ORDER BY a.inserted_at, a.id LIMIT 50`

// FamilyOf are the other active agents of an agent's owner, oldest first, at most 50.
func FamilyOf(ctx context.Context, q pg.Querier, agent id.Participant) ([]Kin, error) {
	var b pg.Batch
	var out []Kin
	b.Add(pg.ReadAll(&out), familySQL, agent)
	if err := pg.Run(ctx, q, &b); err != nil {
		return nil, fmt.Errorf("list family: %w", err)
	}
	return out, nil
}

// The scalar subselect cannot become a join that reads the agent's whole queue for
// every message.
const turnHistorySQL = `SELECT ` + messageColumns + messageFrom + ` WHERE m.conversation_id = $1::uuid AND m.deleted_at IS NULL
	AND (m.message_type IS NULL OR m.message_type NOT IN ` + hiddenTypes + `)
	AND (SELECT q.id FROM queued_messages q WHERE q.message_id = m.id AND q.agent_id = $2::uuid AND q.lease_until IS NULL) IS NULL
	ORDER BY m.inserted_at DESC LIMIT `

const newestSQL = `SELECT m.id FROM messages m WHERE m.conversation_id = $1::uuid AND m.deleted_at IS NULL
	AND (m.message_type IS NULL OR m.message_type NOT IN ` + hiddenTypes + `) ORDER BY m.inserted_at DESC LIMIT 1`

// DefaultHistory is how much of a room an agent is shown unless told otherwise. The
// limit stands in the statement: Postgres keeps a plan for it.
const DefaultHistory = 20

const turnHistoryDefaultSQL = turnHistorySQL + `20`

const turnHistoryAnySQL = turnHistorySQL + `$3::integer`

// A work room can have seen several tasks: the one that runs comes first.
const workTaskSQL = `SELECT t.id FROM tasks t WHERE t.work_conversation_id = $1::uuid AND t.conversation_id <> t.work_conversation_id AND t.end_kind IS NULL
	AND EXISTS (SELECT 1 FROM task_assignees a WHERE a.task_id = t.id AND a.participant_id = $2::uuid)
	ORDER BY (t.status IN ('accepted', 'in_progress')) DESC, t.updated_at DESC LIMIT 1`

const newestAndTaskSQL = `SELECT (` + newestSQL + `), (` + workTaskSQL + `)`

// TurnGround is what a turn of an agent is prepared from.
type TurnGround struct {
	Room     *Conversation // without newest row and counts; nil when it is gone
	Agent    *Agent        // nil when it is gone
	Owner    AgentOwner    // empty when the account is gone
	Family   []Kin         // the owner's other agents, oldest first, at most 50
	Messages []Message     // of those asked for, those that are not deleted; in no order
	Recent   []Message     // newest first, without what waits for a turn of the agent; at most DefaultHistory
	Newest   id.Message    // of the timeline; zero when it is empty
	Notes    []Note        // what is remembered that who asks may hear; none when they came too late
	Task     id.Task       // that the agent does in this work room and that has not ended; zero elsewhere
}

// notesBudget is how long a turn waits for what is remembered. Notes make an answer
// better; a turn is not held by them (row K4).
const notesBudget = 2 * time.Second

// TurnGroundOf reads it in one round trip, for a turn that answers messages, or one that
// works for somebody. When that takes longer than notes are worth, it is read again
// without them.
func TurnGroundOf(ctx context.Context, q pg.Querier, c id.Conversation, agent id.Participant, asked []id.Message, caller id.Participant) (TurnGround, error) {
	soon, cancel := context.WithTimeout(ctx, notesBudget)
	defer cancel()
	g, err := turnGround(soon, q, c, agent, asked, func(b *pg.Batch, into *[]Note) { addNotes(b, c, agent, asked, caller, into) })
	if err == nil || soon.Err() == nil || ctx.Err() != nil {
		return g, err
	}
	return turnGround(ctx, q, c, agent, asked, func(*pg.Batch, *[]Note) {})
}

func turnGround(ctx context.Context, q pg.Querier, c id.Conversation, agent id.Participant, asked []id.Message, notes func(*pg.Batch, *[]Note)) (g TurnGround, err error) {
	var b pg.Batch
	var room Conversation
	var a Agent
	var isRoom, isAgent, any bool
	b.Add(pg.ReadOne(&room.Room, &isRoom), roomSQL, c)
	b.Add(pg.ReadAll(&room.Members), roomMembersSQL, c)
	b.Add(pg.ReadOne(&a, &isAgent), oneAgentSQL, agent)
	b.Add(pg.ReadOne(&g.Owner, &any), agentOwnerSQL, agent)
	b.Add(pg.ReadAll(&g.Family), familySQL, agent)
	addMessages(&b, asked, &g.Messages)
	b.Add(pg.ReadAll(&g.Recent), turnHistoryDefaultSQL, c, agent)
	b.Add(pg.ReadValues(&any, &g.Newest, &g.Task), newestAndTaskSQL, c, agent)
	notes(&b, &g.Notes)
	if err := pg.Run(ctx, q, &b); err != nil {
		return TurnGround{}, fmt.Errorf("read turn: %w", err)
	}
	if isRoom {
		g.Room = &room
	}
	if isAgent {
		g.Agent = &a
	}
	return g, nil
}

// TurnHistory is TurnGround.Recent with another limit.
func TurnHistory(ctx context.Context, q pg.Querier, c id.Conversation, agent id.Participant, limit int) ([]Message, error) {
	return messages(ctx, q, turnHistoryAnySQL, c, agent, limit)
}

// answerSQL finds what the claim $1 was answered with: the message it names, else
// one that latestBySQL finds.
const answerSQL = `SELECT ` + messageColumns + ` FROM queued_messages h
	JOIN messages m ON m.id = coalesce(h.answer_id, (SELECT x.id FROM messages x WHERE x.conversation_id = h.conversation_id
		AND x.inserted_at >= h.claimed_at AND x.sender_id = h.agent_id` + spokenBy + `))
	LEFT JOIN participants p ON p.id = m.sender_id WHERE h.id = $1::uuid AND m.deleted_at IS NULL`

// AddAnswer reads the answer of a claim, if it has one that is not deleted.
func AddAnswer(b *pg.Batch, item id.QueueItem, into *Message, found *bool) {
	b.Add(pg.ReadOne(into, found), answerSQL, item)
}

// LatestBy is the newest message of a participant in a room since a time, in any
// type but errors, that is not the answer of a turn already and not what a task told
// in the room; zero when there is none.
func LatestBy(ctx context.Context, q pg.Querier, c id.Conversation, sender id.Participant, since time.Time) (id.Message, error) {
	var m id.Message
	err := q.QueryRow(ctx, latestBySQL, c, sender, since).Scan(&m)
	if pg.IsNotFound(err) {
		return id.Message{}, nil
	}
	if err != nil {
		return id.Message{}, fmt.Errorf("find own message: %w", err)
	}
	return m, nil
}

const latestBySQL = `SELECT x.id FROM messages x WHERE x.conversation_id = $1::uuid AND x.inserted_at >= $3::timestamptz AND x.sender_id = $2::uuid` + spokenBy

// spokenBy is the newest of the messages x of a sender that may be an answer.
const spokenBy = ` AND x.deleted_at IS NULL AND (x.message_type IS NULL OR x.message_type NOT IN ('EndTurn', 'ErrorReport', 'CapabilityUpdate', 'LocationRequest'))
	AND NOT x.metadata ? 'task_report' AND NOT x.metadata ? 'huddle_report'
	AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.answer_id = x.id)
	AND NOT EXISTS (SELECT 1 FROM queued_messages q WHERE q.agent_id = x.sender_id AND q.answer_id = x.id)
	ORDER BY x.inserted_at DESC LIMIT 1`

// AgentSeat is a person who may see an agent, and a room in which they meet; the
// owner also stands there without a room.
type AgentSeat struct {
	ParticipantID  id.Participant
	ConversationID id.Conversation
}

const audienceSQL = `SELECT DISTINCT s.participant_id, NULL::uuid AS conversation_id FROM conversation_members me
		JOIN conversation_members s ON s.conversation_id = me.conversation_id
		JOIN participants p ON p.id = s.participant_id AND p.kind = 'human'
		JOIN conversations c ON c.id = me.conversation_id AND c.deleted_at IS NULL
	WHERE me.participant_id = $1::uuid
	UNION SELECT a.owner_id, NULL::uuid FROM agents a WHERE a.id = $1::uuid`

const roomAudienceSQL = `SELECT s.participant_id, s.conversation_id FROM conversation_members s
	JOIN participants p ON p.id = s.participant_id AND p.kind = 'human' WHERE s.conversation_id = ANY($1::uuid[])`

// AgentAudience are the people who see whether an agent is online: its owner and
// everybody who shares a room with it.
func AgentAudience(ctx context.Context, q pg.Querier, agent id.Participant) ([]id.Participant, error) {
	seats, err := agentSeats(ctx, q, audienceSQL, agent)
	if err != nil {
		return nil, err
	}
	out := make([]id.Participant, len(seats))
	for n, s := range seats {
		out[n] = s.ParticipantID
	}
	return out, nil
}

// PeopleIn are the people in these rooms, one row per person and room.
func PeopleIn(ctx context.Context, q pg.Querier, rooms []id.Conversation) ([]AgentSeat, error) {
	if len(rooms) == 0 {
		return nil, nil
	}
	return agentSeats(ctx, q, roomAudienceSQL, id.Strings(rooms))
}

func agentSeats(ctx context.Context, q pg.Querier, sql string, args ...any) ([]AgentSeat, error) {
	return pg.Rows[AgentSeat](ctx, q, "list audience", sql, args...)
}
