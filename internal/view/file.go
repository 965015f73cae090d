package view

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

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
	rows, err := q.Query(ctx, roomFilesSQL, room, before, limit)
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByName[RoomFile])
	if err != nil {
		return nil, fmt.Errorf("list files: %w", err)
	}
	return out, nil
}
