package present

import (
	"encoding/json"
	"fmt"

	"github.com/agntchat/agntchat/internal/document"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// Extraction says whether the text of a file can be read (bridge contract 4.8).
func Extraction(contentType string) string {
	if document.TextType(contentType) {
		return "ready"
	}
	return "unsupported"
}

// ConversationFiles is a page of a room's files.
func ConversationFiles(list []view.RoomFile) wire.ConversationFiles {
	out := wire.ConversationFiles{Files: make([]wire.ConversationFile, len(list))}
	for n, f := range list {
		out.Files[n] = wire.ConversationFile{
			ID: f.ID.String(), MessageID: f.MessageID.String(), ConversationID: f.ConversationID.String(), UploadedBy: f.UploadedBy.String(), Filename: f.Filename,
			ContentType: f.ContentType, SizeBytes: f.SizeBytes, ExtractionStatus: Extraction(f.ContentType), InsertedAt: wire.At(f.InsertedAt),
			Uploader: &wire.Sender{ID: f.UploadedBy.String(), Type: f.UploaderKind, DisplayName: f.UploaderName, AvatarURL: f.UploaderAvatarURL},
		}
	}
	return out
}

// attachment reads the content of a message that shows a file (desktop contract 5.3).
func attachment(m view.Message) (a wire.Attachment, caption string, ok bool) {
	var in struct {
		AttachmentID, Filename, ContentType, Caption string
		SizeBytes                                    int64
	}
	if m.ContentType != "file" || json.Unmarshal([]byte(m.Content), &in) != nil || in.AttachmentID == "" {
		return a, "", false
	}
	return wire.Attachment{ID: in.AttachmentID, Filename: in.Filename, ContentType: in.ContentType, SizeBytes: in.SizeBytes}, in.Caption, true
}

// fileText is what a model reads of such a message: how to get at the file.
func fileText(a wire.Attachment, caption string) string {
	s := fmt.Sprintf("[File %q, %s, %d bytes. Read it with read_attachment and attachment_id %q.]", a.Filename, a.ContentType, a.SizeBytes, a.ID)
	if caption != "" {
		return caption + "\n" + s
	}
	return s
}
