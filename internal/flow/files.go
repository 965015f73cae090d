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
	"sync"
	"time"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/blob"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/file"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/limit"
	"github.com/agntchat/agntchat/internal/participant"
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
	// Quota bounds what a workspace keeps, in bytes; 0 is no bound.
	Quota int64
	Log   *slog.Logger

	mu      sync.Mutex
	arrives map[id.File]struct{} // files whose bytes are on their way
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
	if err := f.paced(actor); err != nil {
		return file.File{}, err
	}
	row := file.File{ID: id.New[id.File](), OrganizationID: room.OrganizationID, ConversationID: conv, UploadedBy: actor.ID, Filename: name, ContentType: kind, SizeBytes: n.SizeBytes, State: file.Waiting}
	err = f.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return file.InsertTx(ctx, tx, row, f.Quota) })
	return row, err
}

func (f *Files) paced(actor access.Actor) error {
	if f.Rate == nil {
		return nil
	}
	if wait, ok := f.Rate.Take(actor.ID.String()); !ok {
		return fault.New(fault.Exhausted, "rate_limited", "You are sharing files too fast. Try again in a moment.").After(wait)
	}
	return nil
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

// Holder is who a signed address was given to, who may since have been switched off:
// fault.ErrNotFound then.
func (f *Files) Holder(ctx context.Context, who id.Participant) (access.Actor, error) {
	p, err := participant.Get(ctx, f.DB, who)
	switch {
	case err != nil:
		return access.Actor{}, err
	case p.Status != participant.Active:
		return access.Actor{}, fault.ErrNotFound
	case p.Kind == participant.Agent:
		return access.Actor{Kind: access.Agent, ID: p.ID, DisplayName: p.DisplayName}, nil
	default:
		return access.Actor{Kind: access.Person, ID: p.ID, OwnerID: p.ID, DisplayName: p.DisplayName}, nil
	}
}

// Receive stores the bytes of an upload that was allowed to the actor, who must still
// be allowed to write in the room: exactly as many as were announced. One at a time:
// fault code upload_under_way tells whoever comes meanwhile.
func (f *Files) Receive(ctx context.Context, actor access.Actor, fid id.File, body io.Reader) error {
	row, err := file.Get(ctx, f.DB, fid)
	if err != nil {
		return err
	}
	if row.UploadedBy != actor.ID {
		return fault.ErrNotFound
	}
	if _, err := f.writable(ctx, f.DB, actor, row.ConversationID); err != nil {
		return err
	}
	if row.State == file.Kept {
		return errAlreadyShared
	}
	if !f.arriving(fid) {
		return errUnderWay
	}
	defer f.arrived(fid)
	bytes, err := f.Blobs.Stage(fid.String(), body, row.SizeBytes)
	switch {
	case errors.Is(err, blob.ErrTooLong), errors.Is(err, blob.ErrTooShort):
		return fault.Newf(fault.Invalid, "size_mismatch", "The file was announced with %d bytes.", row.SizeBytes).Because(err)
	case err != nil:
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	defer bytes.Drop()
	return f.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		ok, err := file.StoredTx(ctx, tx, fid, bytes.Sum)
		if err == nil && !ok { // shared or forgotten meanwhile: what is shared does not change
			err = errAlreadyShared
		}
		if err != nil {
			return err
		}
		return bytes.Keep()
	})
}

// errUnderWay keeps one address from filling the disk: each sender may write a whole
// file before its bytes are counted.
var errUnderWay = fault.New(fault.Conflict, "upload_under_way", "The bytes of this file are arriving already. Wait for them, or ask for another address.")

func (f *Files) arriving(fid id.File) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, busy := f.arrives[fid]; busy {
		return false
	}
	if f.arrives == nil {
		f.arrives = make(map[id.File]struct{})
	}
	f.arrives[fid] = struct{}{}
	return true
}

func (f *Files) arrived(fid id.File) {
	f.mu.Lock()
	delete(f.arrives, fid)
	f.mu.Unlock()
}

// Shared is what a client says of a file whose bytes it has sent.
type Shared struct {
	ID         id.File
	Caption    string
	DurationMS int64
	// Key names the call, as of any post: the same key gives the first message again,
	// and what was uploaded for it a second time is forgotten. "" names none.
	Key string
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
	}
	content, err := fileContent(row, s)
	if err != nil {
		return view.Message{}, err
	}
	out, err := f.Chat.Post(ctx, actor, Post{ConversationID: conv, Content: content, ContentType: fileType, Files: []id.File{row.ID}, ClientKey: s.Key})
	if err != nil && fault.Is(err, "already_shared") { // the same call, a moment earlier
		if row, again := file.Get(ctx, f.DB, s.ID); again == nil && row.State == file.Kept {
			return view.OneMessage(ctx, f.DB, row.MessageID)
		}
	}
	return f.posted(ctx, row.ID, out, err)
}

// posted is what came of the message that was to show a file. Where the same key had
// posted one before, the file was sent for nothing.
func (f *Files) posted(ctx context.Context, fid id.File, out Posted, err error) (view.Message, error) {
	switch {
	case err != nil:
		return view.Message{}, err
	case out.Suppressed:
		return view.Message{}, errTurnEnded
	case out.Duplicate:
		f.forget(ctx, fid)
	}
	return out.Message, nil
}

// forget drops an upload that no message shows. What fails here is done by Tidy.
func (f *Files) forget(ctx context.Context, fid id.File) {
	var unkept bool
	err := f.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) (err error) {
		unkept, err = file.ForgetUnkeptTx(ctx, tx, fid)
		return err
	})
	if err != nil {
		f.Log.WarnContext(ctx, "an upload is forgotten later", slog.String("file_id", fid.String()), slog.Any("error", err))
	}
	if unkept {
		f.dropBytes(ctx, fid)
	}
}

var errTurnEnded = fault.New(fault.Conflict, "turn_ended", "You have ended this turn silently: nothing more is posted.")

// fileType is the content type of a message that shows a file.
const fileType = "file"

// fileContent is the content of such a message (bridge contract 4.8, desktop contract 5.3).
func fileContent(row file.File, s Shared) (string, error) {
	m := map[string]any{"filename": row.Filename, "contentType": row.ContentType, "sizeBytes": row.SizeBytes}
	if !row.ID.IsZero() {
		m["attachmentId"] = row.ID
	} else {
		m["deleted"] = true
	}
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
	if err := f.Receive(ctx, actor, row.ID, bytes.NewReader(content)); err != nil {
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

// Open gives a file that a member of its room may read, and its bytes; the caller
// closes them.
func (f *Files) Open(ctx context.Context, actor access.Actor, fid id.File) (file.File, *os.File, error) {
	row, err := f.Get(ctx, actor, fid)
	if err != nil {
		return row, nil, err
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

// Mine is a page of the files that the actor and the agents of the actor have shared
// in rooms in which the actor sits, newest first, strictly older than before.
func (f *Files) Mine(ctx context.Context, actor access.Actor, before *time.Time, limit int) ([]view.OwnFile, error) {
	return view.FilesBy(ctx, f.DB, actor.ID, before, limit)
}

// Forward shows a file that the actor may read in another room, as a file of the
// actor with bytes of its own: what is deleted in one room stays in the other. key
// names the call: the same key gives the first message again; "" names none.
func (f *Files) Forward(ctx context.Context, actor access.Actor, fid id.File, to id.Conversation, key string) (view.Message, error) {
	from, content, err := f.Open(ctx, actor, fid)
	if err != nil {
		return view.Message{}, err
	}
	defer func() { _ = content.Close() }()
	room, err := f.writable(ctx, f.DB, actor, to)
	if err != nil {
		return view.Message{}, err
	}
	if err := f.paced(actor); err != nil {
		return view.Message{}, err
	}
	row := file.File{
		ID: id.New[id.File](), OrganizationID: room.OrganizationID, ConversationID: to, UploadedBy: actor.ID,
		Filename: from.Filename, ContentType: from.ContentType, SizeBytes: from.SizeBytes,
	}
	if err := f.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return file.InsertTx(ctx, tx, row, f.Quota) }); err != nil {
		return view.Message{}, err
	}
	if err := f.Receive(ctx, actor, row.ID, content); err != nil {
		return view.Message{}, err
	}
	text, err := fileContent(row, Shared{})
	if err != nil {
		return view.Message{}, err
	}
	out, err := f.Chat.Post(ctx, actor, Post{
		ConversationID: to, Content: text, ContentType: fileType, Files: []id.File{row.ID}, ClientKey: key, Metadata: json.RawMessage(`{"forwarded":true}`),
	})
	return f.posted(ctx, row.ID, out, err) // a copy that no message keeps is tidied away
}

// Delete takes a file away for everybody: who shared it, the owner of the agent that
// did, or an administrator of the room. The message stays and says that it is gone.
func (f *Files) Delete(ctx context.Context, actor access.Actor, fid id.File) error {
	row, err := f.Get(ctx, actor, fid)
	if err != nil {
		return err
	}
	err = f.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		room, err := f.Chat.lock(ctx, tx, actor, row.ConversationID)
		if err != nil {
			return err
		}
		owner, err := view.OwnerIDOf(ctx, tx, row.UploadedBy)
		if err != nil {
			return err
		}
		if err := access.DeleteFile(actor, facts(room.Room, room.role), row.UploadedBy, owner); err != nil {
			return err
		}
		if ok, err := file.DeleteTx(ctx, tx, fid); err != nil || !ok {
			return err
		}
		return f.markDeleted(ctx, tx, row)
	})
	if err != nil {
		return err
	}
	f.dropBytes(ctx, fid)
	return nil
}

// markDeleted lets the message of a deleted file say so. Its room is locked.
func (f *Files) markDeleted(ctx context.Context, tx *pg.Tx, row file.File) error {
	m, err := view.OneMessage(ctx, tx, row.MessageID)
	if err != nil {
		return goneIsNil(err)
	}
	for n := range m.Attachments {
		if m.Attachments[n].ID == row.ID {
			m.Attachments[n].Deleted = true
		}
	}
	if m.ContentType == fileType {
		var was Shared
		_ = json.Unmarshal([]byte(m.Content), &was) // ours, its keys those of Shared; without words it had none
		row.ID = id.File{}
		if m.Content, err = fileContent(row, was); err != nil {
			return err
		}
	}
	seq, ok, err := chat.SetAttachmentsTx(ctx, tx, m.ConversationID, m.ID, m.Attachments, m.Content)
	if err != nil || !ok {
		return err
	}
	tx.Publish(lane(m.ConversationID), MessageUpdated{inRoom: inRoom{m.ConversationID}, Message: m, Seq: seq})
	return nil
}

// dropBytes deletes the bytes of a forgotten file now. What fails here is done by Tidy.
func (f *Files) dropBytes(ctx context.Context, fid id.File) {
	err := f.Blobs.Delete(fid.String())
	if err == nil {
		err = f.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return file.GoneTx(ctx, tx, []id.File{fid}) })
	}
	if err != nil {
		f.Log.WarnContext(ctx, "the bytes of a file are deleted later", slog.String("file_id", fid.String()), slog.Any("error", err))
	}
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
