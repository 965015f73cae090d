package flow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"time"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/blob"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/file"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/limit"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
)

// Files is the use cases of files in rooms (bridge contract 3.3, desktop contract
// 4.6): an upload is allowed, the bytes come by a signed address, a message shows
// the file.
type Files struct {
	DB    *pg.DB
	Chat  *Chat
	Blobs blob.Store
	// Rate bounds the uploads of one participant. Nil is no limit.
	Rate *limit.Buckets
	Log  *slog.Logger
}

// NewFile is what somebody wants to share.
type NewFile struct {
	Filename    string
	ContentType string
	SizeBytes   int64
}

// maxCaption bounds the words that go with a file.
const maxCaption = 10_000

// Begin allows an upload into a room that the actor may write in.
func (f *Files) Begin(ctx context.Context, actor access.Actor, conv id.Conversation, n NewFile) (file.File, error) {
	name, kind, err := file.Clean(n.Filename, n.ContentType, n.SizeBytes)
	if err != nil {
		return file.File{}, err
	}
	room, err := f.writable(ctx, f.DB, actor, conv)
	if err != nil {
		return file.File{}, err
	}
	if f.Rate != nil {
		if wait, ok := f.Rate.Take(actor.ID.String()); !ok {
			return file.File{}, fault.New(fault.Exhausted, "rate_limited", "You are sharing files too fast. Try again in a moment.").After(wait)
		}
	}
	row := file.File{ID: id.New[id.File](), OrganizationID: room.OrganizationID, ConversationID: conv, UploadedBy: actor.ID, Filename: name, ContentType: kind, SizeBytes: n.SizeBytes, State: file.Waiting}
	err = f.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return file.InsertTx(ctx, tx, row) })
	return row, err
}

func (f *Files) writable(ctx context.Context, q pg.Querier, actor access.Actor, conv id.Conversation) (chat.Room, error) {
	room, err := chat.Get(ctx, q, conv)
	if err != nil {
		return room, err
	}
	role, err := chat.Role(ctx, q, conv, actor.ID)
	if err != nil {
		return room, err
	}
	return room, access.PostInRoom(actor, facts(room, role))
}

// Receive stores the bytes of an upload that was allowed: exactly as many as were
// announced. The address that named the file is the permission.
func (f *Files) Receive(ctx context.Context, fid id.File, body io.Reader) error {
	row, err := file.Get(ctx, f.DB, fid)
	if err != nil {
		return err
	}
	if row.State == file.Kept {
		return fault.New(fault.Conflict, "already_shared", "This file has been shared already.")
	}
	sum, err := f.Blobs.Put(fid.String(), body, row.SizeBytes)
	switch {
	case errors.Is(err, blob.ErrTooLong), errors.Is(err, blob.ErrTooShort):
		return fault.Newf(fault.Invalid, "size_mismatch", "The file was announced with %d bytes.", row.SizeBytes).Because(err)
	case err != nil:
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	return f.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		ok, err := file.StoredTx(ctx, tx, fid, sum)
		if err == nil && !ok {
			err = fault.ErrNotFound
		}
		return err
	})
}

// Shared is what a client says of a file whose bytes it has sent.
type Shared struct {
	ID         id.File
	Caption    string
	DurationMS int64
}

// Confirm posts the message that shows the file, once: the same call again gives
// the same message.
func (f *Files) Confirm(ctx context.Context, actor access.Actor, conv id.Conversation, s Shared) (view.Message, error) {
	if utf8.RuneCountInString(s.Caption) > maxCaption {
		return view.Message{}, fault.Newf(fault.Invalid, "invalid", "A caption may have at most %d characters.", maxCaption).With("caption", "too_long", "This caption is too long.")
	}
	if _, err := f.writable(ctx, f.DB, actor, conv); err != nil {
		return view.Message{}, err
	}
	row, err := file.Get(ctx, f.DB, s.ID)
	switch {
	case err != nil:
		return view.Message{}, err
	case row.UploadedBy != actor.ID || row.ConversationID != conv:
		return view.Message{}, fault.ErrNotFound
	case row.State == file.Kept:
		return view.OneMessage(ctx, f.DB, row.MessageID)
	case row.State == file.Waiting:
		return view.Message{}, fault.New(fault.Conflict, "not_uploaded", "The bytes of this file have not arrived.")
	}
	content, err := fileContent(row, s)
	if err != nil {
		return view.Message{}, err
	}
	out, err := f.Chat.postWith(ctx, actor, Post{ConversationID: conv, Content: content, ContentType: fileType}, func(ctx context.Context, tx *pg.Tx, p Posted) error {
		if p.Message.ID.IsZero() {
			return fault.New(fault.Conflict, "turn_ended", "You have ended this turn silently: nothing more is posted.")
		}
		ok, err := file.KeepTx(ctx, tx, row.ID, p.Message.ID)
		if err == nil && !ok {
			err = fault.New(fault.Conflict, "already_shared", "This file has been shared already.")
		}
		return err
	})
	if err != nil && fault.Is(err, "already_shared") { // the same call, a moment earlier
		if row, again := file.Get(ctx, f.DB, s.ID); again == nil && row.State == file.Kept {
			return view.OneMessage(ctx, f.DB, row.MessageID)
		}
	}
	return out.Message, err
}

// fileType is the content type of a message that shows a file.
const fileType = "file"

// fileContent is the content of such a message (bridge contract 4.8, desktop contract 5.3).
func fileContent(row file.File, s Shared) (string, error) {
	m := map[string]any{"attachmentId": row.ID, "filename": row.Filename, "contentType": row.ContentType, "sizeBytes": row.SizeBytes}
	if s.Caption != "" {
		m["caption"] = s.Caption
	}
	if s.DurationMS > 0 {
		m["durationMs"] = s.DurationMS
	}
	b, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("encode file message: %w", err)
	}
	return string(b), nil
}

// Share does it all for bytes that are here already: a document that a tool made.
func (f *Files) Share(ctx context.Context, actor access.Actor, conv id.Conversation, name, contentType string, content []byte, caption string) (file.File, view.Message, error) {
	row, err := f.Begin(ctx, actor, conv, NewFile{Filename: name, ContentType: contentType, SizeBytes: int64(len(content))})
	if err != nil {
		return row, view.Message{}, err
	}
	if err := f.Receive(ctx, row.ID, bytes.NewReader(content)); err != nil {
		return row, view.Message{}, err
	}
	m, err := f.Confirm(ctx, actor, conv, Shared{ID: row.ID, Caption: caption})
	return row, m, err
}

// Get is a file that a member of its room may read.
func (f *Files) Get(ctx context.Context, actor access.Actor, fid id.File) (file.File, error) {
	row, err := file.Get(ctx, f.DB, fid)
	if err != nil {
		return row, err
	}
	if _, err := f.Chat.Readable(ctx, f.DB, actor, row.ConversationID); err != nil {
		return file.File{}, err
	}
	if row.State != file.Kept {
		return file.File{}, fault.ErrNotFound
	}
	return row, nil
}

// Open gives the bytes of a file whose address was signed; the caller closes them.
func (f *Files) Open(ctx context.Context, fid id.File) (file.File, *os.File, error) {
	row, err := file.Get(ctx, f.DB, fid)
	if err != nil {
		return row, nil, err
	}
	if row.State != file.Kept {
		return row, nil, fault.ErrNotFound
	}
	content, err := f.Blobs.Open(fid.String())
	if errors.Is(err, fs.ErrNotExist) {
		f.Log.ErrorContext(ctx, "the bytes of a file are missing", slog.String("file_id", fid.String()))
		return row, nil, fault.ErrNotFound
	}
	return row, content, err
}

// List is a page of a room's files, newest first.
func (f *Files) List(ctx context.Context, actor access.Actor, conv id.Conversation, before *time.Time, limit int) ([]view.RoomFile, error) {
	if _, err := f.Chat.Readable(ctx, f.DB, actor, conv); err != nil {
		return nil, err
	}
	return view.FilesOf(ctx, f.DB, conv, before, limit)
}

// tidyBatch bounds one transaction of Tidy.
const tidyBatch = 500

// Tidy forgets files that nobody can see any more and deletes the bytes of
// forgotten ones. Doing it twice changes nothing.
func (f *Files) Tidy(ctx context.Context) error {
	for {
		var n int64
		err := f.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) (err error) {
			n, err = file.ForgetTx(ctx, tx, tidyBatch)
			return err
		})
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	for {
		left, err := file.Leftovers(ctx, f.DB, tidyBatch)
		if err != nil || len(left) == 0 {
			return err
		}
		for _, fid := range left {
			if err := f.Blobs.Delete(fid.String()); err != nil {
				return err
			}
		}
		if err := f.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return file.GoneTx(ctx, tx, left) }); err != nil {
			return err
		}
	}
}
