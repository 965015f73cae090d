package view

import (
	"context"
	"fmt"
	"time"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Note is something remembered, as an agent is told it. Content is cut to 1000
// characters.
type Note struct {
	Kind     string // room: the memory of the room, JSON; own; family
	Category string
	Key      string
	Content  string
	From     string // for whom the agent worked when it learned it, unless that was its owner
}

// How many notes are read for a turn; what is told of them is bounded in characters.
const (
	mostOwnNotes    = "40"
	mostFamilyNotes = "20"
)

// notesSQL are the notes for a turn of the agent $2 in the room $1 that answers the
// messages $3, or that works for $4. Recall is filtered by who asks: the owner hears
// everything; others what was learned here or in rooms that they sit in; several at
// once what was learned here. What was written under the influence of strangers' text is
// never told unasked. Shared notes that the agent has one of its own about are left out
// (K5). What has to do with the words comes first, then the newest.
const notesSQL = `WITH asked AS (SELECT count(DISTINCT m.sender_id) AS n, (array_agg(m.sender_id))[1] AS sender_id,
		left(string_agg(m.content, ' '), 500) AS words FROM messages m WHERE m.id = ANY($3::uuid[])),
	g AS (SELECT a.owner_id, c.organization_id, coalesce($4::uuid, (SELECT CASE WHEN x.n = 1 THEN x.sender_id END FROM asked x)) AS caller,
		replace(plainto_tsquery('english', coalesce((SELECT x.words FROM asked x), ''))::text, '&', '|')::tsquery AS q
		FROM agents a, conversations c WHERE a.id = $2::uuid AND c.id = $1::uuid)
	(SELECT 'room' AS kind, '' AS category, '' AS key, r.memory::text AS content, '' AS "from" FROM conversation_memories r WHERE r.conversation_id = $1::uuid AND r.memory <> '{}')
	UNION ALL
	(SELECT 'own', m.category, m.key, left(m.content, 1000), CASE WHEN m.caller_id = (SELECT g.owner_id FROM g) THEN '' ELSE coalesce(p.display_name, '') END
		FROM (SELECT m.id, m.search @@ g.q AS fits, m.updated_at FROM g, agent_memories m WHERE m.agent_id = $2::uuid AND NOT m.untrusted AND ` + mayHear + `
			ORDER BY 2 DESC, 3 DESC, 1 LIMIT ` + mostOwnNotes + `) f
		JOIN agent_memories m ON m.id = f.id LEFT JOIN participants p ON p.id = m.caller_id ORDER BY f.fits DESC, f.updated_at DESC, f.id)
	UNION ALL
	(SELECT 'family', m.category, m.key, left(m.content, 1000), ''
		FROM (SELECT m.id, m.search @@ g.q AS fits, m.updated_at FROM g, family_memories m
			WHERE m.owner_id = (SELECT a.owner_id FROM agents a WHERE a.id = $2::uuid) AND NOT m.untrusted AND ` + mayHear + `
				AND (m.organization_id IS NULL OR m.organization_id = g.organization_id)
				AND NOT EXISTS (SELECT 1 FROM agent_memories o WHERE o.agent_id = $2::uuid AND o.category = m.category AND o.key = m.key)
			ORDER BY 2 DESC, 3 DESC, 1 LIMIT ` + mostFamilyNotes + `) f
		JOIN family_memories m ON m.id = f.id ORDER BY f.fits DESC, f.updated_at DESC, f.id)`

const mayHear = `(g.caller = g.owner_id OR m.source_conversation_id = $1::uuid
	OR EXISTS (SELECT 1 FROM conversation_members s WHERE s.conversation_id = m.source_conversation_id AND s.participant_id = g.caller))`

func addNotes(b *pg.Batch, c id.Conversation, agent id.Participant, asked []id.Message, caller id.Participant, into *[]Note) {
	b.Add(pg.ReadAll(into), notesSQL, c, agent, id.Strings(asked), caller)
}

// AllNotes are the newest notes of an agent, as its owner's turns are told them
// outside of any room.
func AllNotes(ctx context.Context, q pg.Querier, agent id.Participant) ([]Note, error) {
	return pg.Rows[Note](ctx, q, "list notes", allNotesSQL, agent)
}

const allNotesSQL = `SELECT 'own' AS kind, m.category, m.key, left(m.content, 1000) AS content, CASE WHEN m.caller_id = a.owner_id THEN '' ELSE coalesce(p.display_name, '') END AS "from"
	FROM agents a JOIN agent_memories m ON m.agent_id = a.id LEFT JOIN participants p ON p.id = m.caller_id WHERE a.id = $1::uuid AND NOT m.untrusted
	ORDER BY m.updated_at DESC, m.id LIMIT ` + mostOwnNotes

// BriefTask is a task of a room that has not ended.
type BriefTask struct {
	ID         id.Task
	Title      string
	Status     string
	AssignedTo []string // names
}

const openTasksSQL = `SELECT t.id, t.title, t.status, ARRAY(SELECT p.display_name FROM task_assignees a JOIN participants p ON p.id = a.participant_id
		WHERE a.task_id = t.id ORDER BY a.position LIMIT 20) AS assigned_to
	FROM tasks t WHERE (t.conversation_id = $1::uuid OR t.work_conversation_id = $1::uuid) AND t.end_kind IS NULL AND t.parent_task_id IS NULL
	ORDER BY t.updated_at DESC, t.id LIMIT 20`

// OpenTasks are the tasks of a room that have not ended, newest change first, at most 20.
func OpenTasks(ctx context.Context, q pg.Querier, c id.Conversation) ([]BriefTask, error) {
	return pg.Rows[BriefTask](ctx, q, "list open tasks", openTasksSQL, c)
}

// Work is the task that an agent works at in a room of work, and for whom.
type Work struct {
	TaskID      id.Task
	RequesterID id.Participant
}

const workSQL = `SELECT t.id AS task_id, t.requester_id FROM tasks t JOIN task_assignees a ON a.task_id = t.id AND a.participant_id = $2::uuid
	WHERE t.work_conversation_id = $1::uuid AND t.end_kind IS NULL ORDER BY t.updated_at DESC LIMIT 1`

// WorkIn finds it; ok is false where the agent works at nothing.
func WorkIn(ctx context.Context, q pg.Querier, c id.Conversation, agent id.Participant) (w Work, ok bool, err error) {
	err = q.QueryRow(ctx, workSQL, c, agent).Scan(&w.TaskID, &w.RequesterID)
	if pg.IsNotFound(err) {
		return Work{}, false, nil
	}
	if err != nil {
		return Work{}, false, fmt.Errorf("find work: %w", err)
	}
	return w, true, nil
}

const onlyFamilySQL = `SELECT NOT EXISTS (SELECT 1 FROM conversation_members s LEFT JOIN agents a ON a.id = s.participant_id
	WHERE s.conversation_id = $1::uuid AND coalesce(a.owner_id, s.participant_id) <> $2::uuid)`

// OnlyFamily reports that nobody sits in a room but a person and their own agents.
func OnlyFamily(ctx context.Context, q pg.Querier, c id.Conversation, owner id.Participant) (only bool, err error) {
	if err := q.QueryRow(ctx, onlyFamilySQL, c, owner).Scan(&only); err != nil {
		return false, fmt.Errorf("look who is in a room: %w", err)
	}
	return only, nil
}

// SoulVersion is a soul that an agent had before.
type SoulVersion struct {
	ID             int64
	SoulMD         string `db:"soul_md"`
	ReplacedBy     id.Participant
	ReplacedByName string
	InsertedAt     time.Time
}

const soulsSQL = `SELECT s.id, s.soul_md, s.replaced_by, coalesce(p.display_name, '') AS replaced_by_name, s.inserted_at
	FROM agent_souls s LEFT JOIN participants p ON p.id = s.replaced_by WHERE s.agent_id = $1::uuid ORDER BY s.id DESC LIMIT 50`

// Souls are what an agent was before, newest first, at most 50.
func Souls(ctx context.Context, q pg.Querier, agent id.Participant) ([]SoulVersion, error) {
	return pg.Rows[SoulVersion](ctx, q, "list souls", soulsSQL, agent)
}
