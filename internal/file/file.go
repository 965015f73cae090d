// Package file owns what is known about files of rooms: who may have uploaded what,
// and which message shows it. The bytes are in internal/blob, under the file's id.
package file

import (
	"context"
	"fmt"
	"mime"
	"path"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// MaxBytes is the size of the largest file (decision 5).
const MaxBytes = 25 << 20

// maxUnkept bounds the uploads of one participant that no message shows yet.
const maxUnkept = 50

// State is how far a file has come.
type State string

// The states (migration 8).
const (
	Waiting State = "waiting"
	Stored  State = "stored"
	Kept    State = "kept"
)

// File is one file.
type File struct {
	ID             id.File
	OrganizationID id.Organization
	ConversationID id.Conversation
	MessageID      id.Message // zero until it is kept
	UploadedBy     id.Participant
	Filename       string
	ContentType    string
	SizeBytes      int64
	State          State
	InsertedAt     time.Time
}

var errInvalid = fault.New(fault.Invalid, "invalid", "This file cannot be uploaded.")

// Clean checks and tidies name, type and size of a file.
func Clean(name, contentType string, size int64) (string, string, error) {
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\uFFFD' {
			return -1
		}
		return r
	}, path.Base(strings.ReplaceAll(name, `\`, "/")))
	name = strings.TrimSpace(name)
	if name == "" || name == "." || name == ".." || name == "/" {
		return "", "", errInvalid.With("filename", "required", "A file needs a name.")
	}
	if r := []rune(name); len(r) > 200 {
		ext := path.Ext(name)
		if len([]rune(ext)) > 20 {
			ext = ""
		}
		name = string(r[:200-len([]rune(ext))]) + ext
	}
	for len(name) > 255 {
		r := []rune(name)
		name = string(r[:len(r)-1])
	}
	kind, params, err := mime.ParseMediaType(contentType)
	if err != nil || !strings.Contains(kind, "/") {
		kind, params = "application/octet-stream", nil
	}
	contentType = mime.FormatMediaType(kind, params)
	if contentType == "" || len(contentType) > 200 {
		contentType = "application/octet-stream"
	}
	switch {
	case size < 1:
		return "", "", errInvalid.With("sizeBytes", "required", "An empty file cannot be shared.")
	case size > MaxBytes:
		return "", "", fault.Newf(fault.Invalid, "file_too_large", "A file may have at most %d MiB.", MaxBytes>>20).With("sizeBytes", "too_large", fmt.Sprintf("at most %d bytes", MaxBytes))
	}
	return name, contentType, nil
}

// InsertTx notes that a file may be uploaded. quota bounds, in bytes, what the
// workspace keeps with it; 0 is no bound.
func InsertTx(ctx context.Context, tx *pg.Tx, f File, quota int64) error {
	// What is counted must not change until the row is there: many at once would all fit.
	for _, whose := range []string{f.OrganizationID.String(), f.UploadedBy.String()} {
		if _, err := tx.Exec(ctx, lockCountSQL, whose); err != nil {
			return fmt.Errorf("lock uploads: %w", err)
		}
	}
	var n int
	if err := tx.QueryRow(ctx, countUnkeptSQL, f.UploadedBy).Scan(&n); err != nil {
		return fmt.Errorf("count uploads: %w", err)
	}
	if n >= maxUnkept {
		return fault.Newf(fault.Exhausted, "too_many_uploads", "%d of your uploads are not finished. Finish them or wait a day.", maxUnkept)
	}
	if quota > 0 {
		var kept int64
		if err := tx.QueryRow(ctx, storedBytesSQL, f.OrganizationID).Scan(&kept); err != nil {
			return fmt.Errorf("count stored bytes: %w", err)
		}
		if kept+f.SizeBytes > quota {
			return fault.Newf(fault.Conflict, "storage_full", "This workspace keeps %d of its %d MiB: delete files that are not needed any more.", kept>>20, quota>>20)
		}
	}
	if _, err := tx.Exec(ctx, insertSQL, f.ID, f.OrganizationID, f.ConversationID, f.UploadedBy, f.Filename, f.ContentType, f.SizeBytes); err != nil {
		return fmt.Errorf("insert file: %w", err)
	}
	return nil
}

// Get reads a file; fault.ErrNotFound when there is none, or its message is gone.
func Get(ctx context.Context, q pg.Querier, fid id.File) (File, error) {
	rows, err := q.Query(ctx, getSQL, fid)
	if err != nil {
		return File{}, fmt.Errorf("load file: %w", err)
	}
	f, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[File])
	if pg.IsNotFound(err) {
		return File{}, fault.ErrNotFound
	}
	if err != nil {
		return File{}, fmt.Errorf("load file: %w", err)
	}
	return f, nil
}

// StoredTx notes that the bytes are here. False when the file is kept already.
func StoredTx(ctx context.Context, tx *pg.Tx, fid id.File, sum []byte) (bool, error) {
	tag, err := tx.Exec(ctx, storedSQL, fid, sum)
	if err != nil {
		return false, fmt.Errorf("note upload: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// LockTx reads the files that somebody uploaded to a room, in no order, and keeps
// anybody else from sharing them until the transaction ends.
func LockTx(ctx context.Context, tx *pg.Tx, by id.Participant, room id.Conversation, ids []id.File) ([]File, error) {
	return pg.Rows[File](ctx, tx, "lock files", lockSQL, by, room, id.Strings(ids))
}

// KeepTx ties stored files, locked by LockTx, to the message that shows them.
func KeepTx(ctx context.Context, tx *pg.Tx, ids []id.File, msg id.Message) error {
	tag, err := tx.Exec(ctx, keepSQL, id.Strings(ids), msg)
	if err == nil && int(tag.RowsAffected()) != len(ids) {
		err = fmt.Errorf("%d of %d are stored", tag.RowsAffected(), len(ids))
	}
	if err != nil {
		return fmt.Errorf("keep files: %w", err)
	}
	return nil
}

// DeleteTx forgets a file for good. Its bytes are listed by Leftovers from then on.
// False when it was forgotten before.
func DeleteTx(ctx context.Context, tx *pg.Tx, fid id.File) (bool, error) {
	tag, err := tx.Exec(ctx, deleteSQL, fid)
	if err != nil {
		return false, fmt.Errorf("delete file: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// ForgetUnkeptTx is DeleteTx for an upload; false, and nothing happens, when a message
// shows it.
func ForgetUnkeptTx(ctx context.Context, tx *pg.Tx, fid id.File) (bool, error) {
	tag, err := tx.Exec(ctx, forgetUnkeptSQL, fid)
	if err != nil {
		return false, fmt.Errorf("forget upload: %w", err)
	}
	return tag.RowsAffected() == 1, nil
}

// ForgetTx forgets at most limit files whose message or room was deleted, and
// uploads of yesterday that no message shows; it counts them.
func ForgetTx(ctx context.Context, tx *pg.Tx, limit int) (int64, error) {
	tag, err := tx.Exec(ctx, forgetSQL, limit)
	if err != nil {
		return 0, fmt.Errorf("forget files: %w", err)
	}
	return tag.RowsAffected(), nil
}

// Leftovers lists files that are forgotten and whose bytes may still be here.
func Leftovers(ctx context.Context, q pg.Querier, limit int) ([]id.File, error) {
	return pg.Column[id.File](ctx, q, "list leftovers", leftoversSQL, limit)
}

// GoneTx notes that the bytes of these files are gone.
func GoneTx(ctx context.Context, tx *pg.Tx, ids []id.File) error {
	if _, err := tx.Exec(ctx, goneSQL, id.Strings(ids)); err != nil {
		return fmt.Errorf("note deleted bytes: %w", err)
	}
	return nil
}
