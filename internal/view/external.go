package view

import (
	"context"
	"time"

	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// ExternalSession is an agent's newest CLI session, live ones first (desktop 5.4).
// The room is the one it is shown in, else the direct room of agent and owner.
type ExternalSession struct {
	ID             id.ExternalSession
	SessionKey     string
	Tool           string
	State          string
	Cwd            string
	Repo           string
	Branch         string
	Hostname       string
	Prompts        int
	ToolCalls      int
	Tools          map[string]int
	ConversationID *id.Conversation
	StartedAt      time.Time
	LastEventAt    time.Time
	EndedAt        *time.Time
}

// externalSessionSQL is a column of agentSQL: the session as JSON, its keys the names of the fields.
const externalSessionSQL = `(SELECT jsonb_build_object('ID', x.id, 'SessionKey', x.session_key, 'Tool', x.tool, 'State', x.state, 'Cwd', x.cwd, 'Repo', x.repo,
		'Branch', x.branch, 'Hostname', x.hostname, 'Prompts', x.prompts, 'ToolCalls', x.tool_calls, 'Tools', x.tools, 'StartedAt', x.started_at,
		'LastEventAt', x.last_event_at, 'EndedAt', x.ended_at, 'ConversationID', coalesce(x.conversation_id, (SELECT d.id FROM conversations d
			WHERE d.organization_id = a.organization_id AND d.direct_key = least(a.id::text, a.owner_id::text) || ':' || greatest(a.id::text, a.owner_id::text)
			AND d.parent_conversation_id IS NULL AND d.deleted_at IS NULL)))
	FROM external_sessions x WHERE x.agent_id = a.id AND (x.announced OR x.state = 'ended')
	ORDER BY (x.state <> 'ended') DESC, x.started_at DESC LIMIT 1) AS external_session`

// InboxMessage is a message that waits in an agent's inbox, with its room.
type InboxMessage struct {
	ConversationID id.Conversation
	Type           string
	Title          string // of a direct room the other's name
	OwnerDM        bool   `db:"owner_dm"`
	Unread         int    // waiting in this room, also those not listed
	MessageID      id.Message
	SenderID       id.Participant
	SenderName     string
	SenderKind     string
	Content        string
	ContentType    string
	Attachments    []chat.Attachment
	InsertedAt     time.Time
}

// InboxScope limits a look into an inbox. The zero value is everything.
type InboxScope struct {
	Session bool            // only the room of one session
	Room    id.Conversation // that room; zero when the session has none
	Direct  bool            // and all rooms that show no session
}

const inboxSQL = `SELECT i.conversation_id, c.type, coalesce(c.title, (SELECT o.display_name FROM conversation_members om JOIN participants o ON o.id = om.participant_id
		WHERE om.conversation_id = c.id AND om.participant_id <> i.agent_id ORDER BY om.joined_at LIMIT 1), '') AS title,
	(c.type = 'direct' AND EXISTS (SELECT 1 FROM conversation_members w JOIN agents a ON a.owner_id = w.participant_id
		WHERE w.conversation_id = c.id AND a.id = i.agent_id)) AS owner_dm,
	count(*) OVER (PARTITION BY i.conversation_id) AS unread, m.id AS message_id, m.sender_id, coalesce(p.display_name, '') AS sender_name, m.sender_kind,
	m.content, m.content_type, m.attachments, m.inserted_at
	FROM inbox_items i JOIN messages m ON m.id = i.message_id AND m.deleted_at IS NULL
	JOIN conversations c ON c.id = i.conversation_id AND c.deleted_at IS NULL
	JOIN conversation_members s ON s.conversation_id = i.conversation_id AND s.participant_id = i.agent_id
	LEFT JOIN participants p ON p.id = m.sender_id
	WHERE i.agent_id = $1::uuid AND i.read_at IS NULL
	AND (NOT $2::boolean OR i.conversation_id = $3::uuid OR ($4::boolean AND c.type <> 'session'))
	ORDER BY m.inserted_at DESC, m.id LIMIT $5::integer`

// Inbox is what waits for an agent, newest first. What it can no longer read is missing.
func Inbox(ctx context.Context, q pg.Querier, agent id.Participant, in InboxScope, limit int) ([]InboxMessage, error) {
	return pg.Rows[InboxMessage](ctx, q, "list inbox", inboxSQL, agent, in.Session, in.Room, in.Direct, limit)
}

// InboxTask is a task that an agent has open.
type InboxTask struct {
	ID             id.Task
	Title          string
	Status         string
	ConversationID id.Conversation
}

const inboxTasksSQL = `SELECT t.id, t.title, t.status, t.conversation_id FROM task_assignees x JOIN tasks t ON t.id = x.task_id
	WHERE x.participant_id = $1::uuid AND NOT t.fan_out AND t.status IN ('pending', 'accepted', 'in_progress', 'blocked', 'waiting')
	AND (NOT $2::boolean OR t.conversation_id = $3::uuid OR t.work_conversation_id = $3::uuid OR $4::boolean)
	ORDER BY t.inserted_at DESC, t.id LIMIT $5::integer`

// InboxTasks are the open tasks of an agent, newest first.
func InboxTasks(ctx context.Context, q pg.Querier, agent id.Participant, in InboxScope, limit int) ([]InboxTask, error) {
	return pg.Rows[InboxTask](ctx, q, "list tasks", inboxTasksSQL, agent, in.Session, in.Room, in.Direct, limit)
}
