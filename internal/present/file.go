package present

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/document"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// Extraction says whether the text of a file can be read (bridge contract 4.8).
func Extraction(contentType string) string {
	if document.Extractable(contentType) {
		return "ready"
	}
	return "unsupported"
}

// ConversationFiles is a page of a room's files.
func ConversationFiles(list []view.RoomFile) wire.ConversationFiles {
	out := wire.ConversationFiles{Files: make([]wire.ConversationFile, len(list))}
	for n, f := range list {
		out.Files[n] = conversationFile(f)
	}
	return out
}

func conversationFile(f view.RoomFile) wire.ConversationFile {
	return wire.ConversationFile{
		ID: f.ID.String(), MessageID: f.MessageID.String(), ConversationID: f.ConversationID.String(), UploadedBy: f.UploadedBy.String(), Filename: f.Filename,
		ContentType: f.ContentType, SizeBytes: f.SizeBytes, ExtractionStatus: Extraction(f.ContentType), InsertedAt: wire.At(f.InsertedAt),
		Uploader: &wire.Sender{ID: f.UploadedBy.String(), Type: f.UploaderKind, DisplayName: f.UploaderName, AvatarURL: f.UploaderAvatarURL},
	}
}

// OwnFiles is a page of the files that somebody has shared anywhere.
func OwnFiles(list []view.OwnFile) wire.OwnerFiles {
	out := wire.OwnerFiles{Files: make([]wire.OwnerFile, len(list))}
	for n, f := range list {
		out.Files[n] = wire.OwnerFile{ConversationFile: conversationFile(f.RoomFile), Conversation: &wire.FileRoom{ID: f.ConversationID.String(), Title: f.RoomTitle, Type: f.RoomType}}
		if f.TaskTitle != nil && !f.TaskID.IsZero() {
			out.Files[n].Task = &wire.FileTask{ID: f.TaskID.String(), Title: *f.TaskTitle}
		}
	}
	return out
}

// forModel is what a model reads of a message: its words, and of each file how to get
// at it (bridge contract 4.8).
func forModel(m view.Message) string {
	text := m.Content
	if m.ContentType != "text" || m.MessageType != nil {
		text = ReadableText(m)
	}
	if m.ContentType == "file" {
		text = caption(m)
	}
	return withFiles(text, m.Attachments)
}

// withFiles is a text with a line for each file that goes with it.
func withFiles(text string, files []chat.Attachment) string {
	lines := make([]string, 0, len(files)+1)
	if text != "" {
		lines = append(lines, text)
	}
	for _, a := range files {
		if a.Deleted {
			lines = append(lines, fmt.Sprintf("[File %q was deleted.]", a.Filename))
			continue
		}
		lines = append(lines, fmt.Sprintf("[File %q, %s, %d bytes. Read it with read_attachment and attachment_id %q.]", a.Filename, a.ContentType, a.SizeBytes, a.ID))
	}
	return strings.Join(lines, "\n")
}

// caption is the words of a message that is a file (desktop contract 5.3).
func caption(m view.Message) string {
	var in struct{ Caption string }
	_ = json.Unmarshal([]byte(m.Content), &in) // anything else has none
	return in.Caption
}

// Uploads reads which files a message is to show. Name, type and size were said with
// the upload; only the key is read.
func Uploads(in []wire.PushAttachment) ([]id.File, error) {
	if len(in) == 0 {
		return nil, nil
	}
	out := make([]id.File, len(in))
	for n, a := range in {
		fid, err := id.Parse[id.File](a.StorageKey)
		if err != nil {
			return nil, fault.New(fault.Invalid, "unknown_attachment", "One of the files is not here. Upload it again.").With(fmt.Sprintf("attachments[%d].storageKey", n), "format", "no key of an upload")
		}
		out[n] = fid
	}
	return out, nil
}
