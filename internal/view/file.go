package view

import (
	"context"
	"time"

	"github.com/agntchat/agntchat/internal/file"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// RoomFile is a file of a room with who shared it.
type RoomFile struct {
	file.File
	UploaderName      string
	UploaderKind      string
	UploaderAvatarURL *string
}

const roomFilesSQL = `SELECT f.id, f.organization_id, f.conversation_id, f.message_id, f.uploaded_by, f.filename, f.content_type, f.size_bytes, f.state, f.inserted_at,
	p.display_name AS uploader_name, p.kind AS uploader_kind, p.avatar_url AS uploader_avatar_url
	FROM files f JOIN messages m ON m.id = f.message_id AND m.deleted_at IS NULL JOIN participants p ON p.id = f.uploaded_by
	WHERE f.conversation_id = $1::uuid AND f.state = 'kept' AND ($2::timestamptz IS NULL OR f.inserted_at < $2::timestamptz)
	ORDER BY f.inserted_at DESC LIMIT $3::integer`

// FilesOf is a page of a room's files, newest first, strictly older than before
// when it is given.
func FilesOf(ctx context.Context, q pg.Querier, room id.Conversation, before *time.Time, limit int) ([]RoomFile, error) {
	return pg.Rows[RoomFile](ctx, q, "list files", roomFilesSQL, room, before, limit)
}

// OwnFile is a file with where it was shared: the room, and in a work room the task.
type OwnFile struct {
	RoomFile
	RoomTitle *string
	RoomType  string
	TaskID    id.Task
	TaskTitle *string
}

const filesBySQL = `SELECT f.id, f.organization_id, f.conversation_id, f.message_id, f.uploaded_by, f.filename, f.content_type, f.size_bytes, f.state, f.inserted_at,
	p.display_name AS uploader_name, p.kind AS uploader_kind, p.avatar_url AS uploader_avatar_url, c.title AS room_title, c.type AS room_type, t.id AS task_id, t.title AS task_title
	FROM files f JOIN messages m ON m.id = f.message_id AND m.deleted_at IS NULL JOIN participants p ON p.id = f.uploaded_by
	JOIN conversations c ON c.id = f.conversation_id AND c.deleted_at IS NULL
	JOIN conversation_members s ON s.conversation_id = f.conversation_id AND s.participant_id = $1::uuid
	LEFT JOIN LATERAL (SELECT x.id, x.title FROM tasks x WHERE c.type = 'task' AND x.work_conversation_id = c.id ORDER BY x.inserted_at LIMIT 1) t ON true
	WHERE f.uploaded_by IN (SELECT $1::uuid UNION SELECT a.id FROM agents a WHERE a.owner_id = $1::uuid) AND f.state = 'kept'
	AND ($2::timestamptz IS NULL OR f.inserted_at < $2::timestamptz)
	ORDER BY f.inserted_at DESC LIMIT $3::integer`

// FilesBy is a page of what a participant and the agents it owns have shared in rooms
// in which it sits, newest first, strictly older than before when it is given.
func FilesBy(ctx context.Context, q pg.Querier, who id.Participant, before *time.Time, limit int) ([]OwnFile, error) {
	return pg.Rows[OwnFile](ctx, q, "list own files", filesBySQL, who, before, limit)
}
