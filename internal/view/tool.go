package view

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

const searchRoomSQL = `SELECT ` + messageColumns + messageFrom + ` WHERE m.conversation_id = $1::uuid AND m.deleted_at IS NULL
	AND m.seq > (SELECT c.message_seq - 20000 FROM conversations c WHERE c.id = $1::uuid) AND m.content ILIKE $2::text
	AND (m.message_type IS NULL OR m.message_type NOT IN ` + hiddenTypes + `) ORDER BY m.seq DESC LIMIT $3::integer`

// SearchRoom finds messages that contain the words, newest first, among the newest
// 20000 of the room.
func SearchRoom(ctx context.Context, q pg.Querier, room id.Conversation, words string, limit int) ([]Message, error) {
	like := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(words) + "%"
	return messages(ctx, q, searchRoomSQL, room, like, limit)
}

const localFilesSQL = `SELECT NOT EXISTS (SELECT 1 FROM executors e WHERE e.agent_id = $1::uuid AND e.status = 'online' AND e.ours AND NOT 'share_file' = ANY(e.capabilities))`

// SharesLocalFiles reports that every bridge of the agent can send files of its
// machine: a stock one always, one of ours when it says so.
func SharesLocalFiles(ctx context.Context, q pg.Querier, agent id.Participant) (yes bool, err error) {
	if err := q.QueryRow(ctx, localFilesSQL, agent).Scan(&yes); err != nil {
		return false, fmt.Errorf("read bridges: %w", err)
	}
	return yes, nil
}

// ToolCallRow is one call of a tool with the name of whom it was made for.
type ToolCallRow struct {
	ID             uuid.UUID
	Tool           string
	Outcome        string
	Code           string
	PersonID       id.Participant
	PersonName     *string
	ConversationID id.Conversation
	TaskID         id.Task
	Untrusted      bool
	DurationMS     int
	InsertedAt     time.Time
}

const toolCallsSQL = `SELECT t.id, t.tool, t.outcome, t.code, t.person_id, p.display_name AS person_name, t.conversation_id, t.task_id, t.untrusted, t.duration_ms, t.inserted_at
	FROM tool_calls t LEFT JOIN participants p ON p.id = t.person_id
	WHERE t.agent_id = $1::uuid AND ($2::timestamptz IS NULL OR t.inserted_at < $2::timestamptz) ORDER BY t.inserted_at DESC LIMIT $3::integer`

// ToolCalls is a page of an agent's calls, newest first, before a time when it is given.
func ToolCalls(ctx context.Context, q pg.Querier, agent id.Participant, before *time.Time, limit int) ([]ToolCallRow, error) {
	return pg.Rows[ToolCallRow](ctx, q, "list tool calls", toolCallsSQL, agent, before, limit)
}
