package view

import (
	"context"
	"encoding/json"
	"time"

	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// Message is a message with what everybody may know of its sender. SenderID is
// zero for system lines; a sender that was deleted keeps its name.
type Message struct {
	ID                id.Message
	ConversationID    id.Conversation
	Seq               int64 // dense number of the message in its room
	SenderID          id.Participant
	SenderKind        string // human | agent | system
	SenderName        string
	SenderAvatarURL   *string
	Content           string
	ContentType       string
	MessageType       *string
	ContentStructured json.RawMessage
	Metadata          json.RawMessage
	ParentMessageID   id.Message
	CorrelationID     *string
	TurnGroupID       *string
	Mentions          []id.Participant
	InsertedAt        time.Time
	UpdatedAt         time.Time
	Attachments       []chat.Attachment
	Task              *TaskSnapshot `db:"-"` // of a card
}

// Type is the message type, "" for plain text.
func (m Message) Type() string {
	if m.MessageType == nil {
		return ""
	}
	return *m.MessageType
}

// hiddenTypes are stored and never listed; speak.Hidden says the same (a test compares them).
const hiddenTypes = `('EndTurn', 'TaskReassign', 'TaskDeclined', 'TurnDirective', 'CapabilityUpdate', 'capability_negotiation', 'ContextBriefing')`

const messageColumns = `m.id, m.conversation_id, m.seq, m.sender_id, m.sender_kind, coalesce(p.display_name, '') AS sender_name,
	p.avatar_url AS sender_avatar_url, m.content, m.content_type, m.message_type, m.content_structured, m.metadata, m.parent_message_id,
	m.correlation_id, m.turn_group_id, m.mentions, m.inserted_at, m.updated_at, m.attachments`

const messageFrom = ` FROM messages m LEFT JOIN participants p ON p.id = m.sender_id`

const messageByIDSQL = `SELECT ` + messageColumns + messageFrom + ` WHERE m.id = $1::uuid AND m.deleted_at IS NULL`

const (
	messagesByIDSQL = `SELECT ` + messageColumns + messageFrom + ` WHERE m.id = ANY($1::uuid[]) AND m.deleted_at IS NULL`

	messagesNewestSQL = `SELECT ` + messageColumns + messageFrom + ` WHERE m.conversation_id = $1::uuid AND m.deleted_at IS NULL
		AND (m.message_type IS NULL OR m.message_type NOT IN ` + hiddenTypes + `) ORDER BY m.inserted_at DESC LIMIT $2::integer`

	messagesBeforeSQL = `SELECT ` + messageColumns + messageFrom + ` WHERE m.conversation_id = $1::uuid AND m.inserted_at < $3::timestamptz
		AND m.deleted_at IS NULL AND (m.message_type IS NULL OR m.message_type NOT IN ` + hiddenTypes + `)
		ORDER BY m.inserted_at DESC LIMIT $2::integer`

	messagesAfterSQL = `SELECT ` + messageColumns + messageFrom + ` WHERE m.conversation_id = $1::uuid AND m.seq > $2::bigint
		AND m.deleted_at IS NULL AND (m.message_type IS NULL OR m.message_type NOT IN ` + hiddenTypes + `) ORDER BY m.seq LIMIT $3::integer`

	lastMessagesSQL = `SELECT ` + messageColumns + ` FROM unnest($1::uuid[]) AS c (id)
		CROSS JOIN LATERAL (SELECT * FROM messages x WHERE x.conversation_id = c.id AND x.deleted_at IS NULL
			AND (x.message_type IS NULL OR x.message_type NOT IN ` + hiddenTypes + `) ORDER BY x.inserted_at DESC LIMIT 1) m
		LEFT JOIN participants p ON p.id = m.sender_id`
)

func messages(ctx context.Context, q pg.Querier, sql string, args ...any) ([]Message, error) {
	out, err := pg.Rows[Message](ctx, q, "list messages", sql, args...)
	if err != nil {
		return nil, err
	}
	return out, addTasks(ctx, q, out)
}

// OneMessage is a message that is not deleted; fault.ErrNotFound otherwise.
func OneMessage(ctx context.Context, q pg.Querier, mid id.Message) (Message, error) {
	ms, err := messages(ctx, q, messageByIDSQL, mid)
	if err != nil {
		return Message{}, err
	}
	if len(ms) == 0 {
		return Message{}, fault.ErrNotFound
	}
	return ms[0], nil
}

// MessagesByID reads messages that are not deleted, by id; absent ones are missing.
func MessagesByID(ctx context.Context, q pg.Querier, ids []id.Message) (map[id.Message]Message, error) {
	if len(ids) == 0 {
		return map[id.Message]Message{}, nil
	}
	ms, err := messages(ctx, q, messagesByIDSQL, id.Strings(ids))
	if err != nil {
		return nil, err
	}
	out := make(map[id.Message]Message, len(ms))
	for _, m := range ms {
		out[m.ID] = m
	}
	return out, nil
}

// addMessages is MessagesByID in a batch, in no order.
func addMessages(b *pg.Batch, ids []id.Message, into *[]Message) {
	if len(ids) == 1 { // the plan is kept
		b.Add(pg.ReadAll(into), messageByIDSQL, ids[0])
		return
	}
	b.Add(pg.ReadAll(into), messagesByIDSQL, id.Strings(ids))
}

// Marks are what a message says about how it stands with those it asked.
type Marks struct {
	ID             id.Message
	ConversationID id.Conversation
	SenderKind     string
	Metadata       json.RawMessage
}

const marksSQL = `SELECT m.id, m.conversation_id, m.sender_kind, m.metadata FROM messages m WHERE m.id = ANY($1::uuid[]) AND m.deleted_at IS NULL`

// AddMarks reads the marks of messages that are not deleted, in no order.
func AddMarks(b *pg.Batch, ids []id.Message, into *[]Marks) {
	b.Add(pg.ReadAll(into), marksSQL, id.Strings(ids))
}

// Timeline is a page of the main timeline, newest first, strictly older than
// before when it is given. Deleted and hidden rows are left out.
func Timeline(ctx context.Context, q pg.Querier, c id.Conversation, before *time.Time, limit int) ([]Message, error) {
	if before == nil {
		return messages(ctx, q, messagesNewestSQL, c, limit)
	}
	return messages(ctx, q, messagesBeforeSQL, c, limit, *before)
}

// MessagesAfter are the rows of the timeline with a number above seq, oldest first.
func MessagesAfter(ctx context.Context, q pg.Querier, c id.Conversation, seq int64, limit int) ([]Message, error) {
	return messages(ctx, q, messagesAfterSQL, c, seq, limit)
}

// LastMessages is the newest row of the timeline of each room that has one.
func LastMessages(ctx context.Context, q pg.Querier, rooms []id.Conversation) (map[id.Conversation]Message, error) {
	if len(rooms) == 0 {
		return map[id.Conversation]Message{}, nil
	}
	ms, err := messages(ctx, q, lastMessagesSQL, id.Strings(rooms))
	if err != nil {
		return nil, err
	}
	out := make(map[id.Conversation]Message, len(ms))
	for _, m := range ms {
		out[m.ConversationID] = m
	}
	return out, nil
}
