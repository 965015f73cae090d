package flow

import (
	"context"
	"fmt"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/file"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// maxAttachments bounds the files of one message.
const maxAttachments = 10

// attach ties the files of a draft to its message, and gives what the message
// remembers of them, in the order given. The room is locked.
func (c *Chat) attach(ctx context.Context, tx *pg.Tx, actor access.Actor, d draft, m id.Message) ([]chat.Attachment, error) {
	if len(d.Files) == 0 {
		return nil, nil
	}
	rows, err := file.LockTx(ctx, tx, actor.ID, d.ConversationID, d.Files)
	if err != nil {
		return nil, err
	}
	known := make(map[id.File]file.File, len(rows))
	for _, r := range rows {
		known[r.ID] = r
	}
	out := make([]chat.Attachment, len(d.Files))
	for n, fid := range d.Files {
		f, ok := known[fid]
		field := fmt.Sprintf("attachments[%d]", n)
		switch {
		case !ok: // never uploaded here by the writer, named twice, or forgotten after a day
			return nil, fault.New(fault.Invalid, "unknown_attachment", "One of the files is not here. Upload it again.").With(field, "unknown", "no upload of yours to this room")
		case f.State == file.Waiting:
			return nil, errNotUploaded.With(field, "not_uploaded", "its bytes have not arrived")
		case f.State == file.Kept:
			return nil, errAlreadyShared.With(field, "already_shared", "a message shows it")
		}
		delete(known, fid)
		out[n] = chat.Attachment{ID: f.ID, Filename: f.Filename, ContentType: f.ContentType, SizeBytes: f.SizeBytes}
	}
	return out, file.KeepTx(ctx, tx, d.Files, m)
}

var (
	errNotUploaded   = fault.New(fault.Conflict, "not_uploaded", "The bytes of this file have not arrived.")
	errAlreadyShared = fault.New(fault.Conflict, "already_shared", "This file has been shared already.")
)
