package present

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/speak"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// maxReadable is the longest readable text of a list entry or a structured row, in bytes.
const maxReadable = 4000

// bracketed is the unmistakable form of a mention, which previews show without brackets.
var bracketed = regexp.MustCompile(`@\[([^\]\n]{1,100})\]`)

// Message is a row of a timeline. Lines of the server have no sender and no sender
// type; a sender that is gone keeps the name it had.
func Message(m view.Message) wire.Message {
	out := wire.Message{
		ID: m.ID.String(), ConversationID: m.ConversationID.String(), SenderName: senderName(m), SenderType: senderType(m),
		Content: m.Content, ContentType: m.ContentType, MessageType: m.MessageType, ContentStructured: orNull(m.ContentStructured),
		Metadata: object(m.Metadata), CorrelationID: m.CorrelationID, TurnGroupID: m.TurnGroupID,
		FileAttachments: []wire.Attachment{}, Reactions: []wire.Reaction{},
		InsertedAt: wire.At(m.InsertedAt), UpdatedAt: wire.At(m.UpdatedAt), MessageSeq: m.Seq,
	}
	out.TaskSnapshot = TaskSnapshot(m.Task)
	if !m.SenderID.IsZero() {
		out.SenderID = new(m.SenderID.String())
		out.Sender = &wire.Sender{ID: m.SenderID.String(), Type: m.SenderKind, DisplayName: m.SenderName, AvatarURL: m.SenderAvatarURL}
	}
	if !m.ParentMessageID.IsZero() {
		out.ParentMessageID = new(m.ParentMessageID.String())
	}
	if m.ContentType != "text" || m.MessageType != nil {
		out.ReadableText = ReadableText(m)
	}
	for _, a := range m.Attachments {
		out.FileAttachments = append(out.FileAttachments, wire.Attachment{ID: a.ID.String(), Filename: a.Filename, ContentType: a.ContentType, SizeBytes: a.SizeBytes, Deleted: a.Deleted})
	}
	if len(m.Attachments) > 0 {
		out.ReadableText = forModel(m)
	}
	return out
}

// Messages presents a page in the order given.
func Messages(ms []view.Message) []wire.Message {
	out := make([]wire.Message, len(ms))
	for i, m := range ms {
		out[i] = Message(m)
	}
	return out
}

// RecentMessages is a window, newest first as read, oldest first as shown.
func RecentMessages(newestFirst []view.Message) []wire.Message {
	out := make([]wire.Message, len(newestFirst))
	for i, m := range newestFirst {
		out[len(out)-1-i] = Message(m)
	}
	return out
}

// Updated is a message as a list entry, with the text of its preview and of a
// native notification; a nil category is "not for this person" (desktop 3.8).
func Updated(m view.Message, category *string) wire.ConversationUpdated {
	w := Message(m)
	w.ReadableText = bracketed.ReplaceAllString(ReadableText(m), "@$1")
	w.NotificationCategory = category
	return wire.ConversationUpdated{ConversationID: w.ConversationID, LastMessage: w, NotificationCategory: category}
}

// ReadableText is what a person or a model reads of a message in one line of
// sight: never raw JSON. Empty for hidden rows.
func ReadableText(m view.Message) string {
	if speak.Hidden(m.Type()) {
		return ""
	}
	text := m.Content
	if m.ContentType != "text" || looksLikeJSON(m.Content) {
		text = structuredText(m)
	}
	if strings.TrimSpace(text) == "" {
		text = fileNames(m)
	}
	return cut(strings.TrimSpace(text), maxReadable)
}

// fileNames stands for the words of a message that has none.
func fileNames(m view.Message) string {
	names := make([]string, len(m.Attachments))
	for n, a := range m.Attachments {
		names[n] = a.Filename
	}
	return strings.Join(names, ", ")
}

// structuredText finds the words in a structured row: those that people would
// read, in the order of their weight.
func structuredText(m view.Message) string {
	for _, raw := range []json.RawMessage{m.ContentStructured, json.RawMessage(m.Content)} {
		var v map[string]any
		if len(raw) == 0 || json.Unmarshal(raw, &v) != nil {
			continue
		}
		for _, in := range []string{"data", "payload", ""} {
			from := v
			if in != "" {
				from, _ = v[in].(map[string]any)
			}
			if s := words(from); s != "" {
				return s
			}
		}
	}
	if looksLikeJSON(m.Content) {
		return ""
	}
	return m.Content
}

func words(v map[string]any) string {
	for _, k := range []string{"text", "caption", "summary", "message", "title", "label", "filename", "action"} {
		if s, ok := v[k].(string); ok && strings.TrimSpace(s) != "" {
			return s
		}
	}
	return ""
}

func looksLikeJSON(s string) bool {
	t := strings.TrimSpace(s)
	return strings.HasPrefix(t, "{") && json.Valid([]byte(t))
}

// cut shortens at a rune boundary.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	s = s[:most]
	for len(s) > 0 && s[len(s)-1]&0xC0 == 0x80 {
		s = s[:len(s)-1]
	}
	return strings.ToValidUTF8(s, "") + "…"
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}

// senderName labels system lines, for models that read a history.
func senderName(m view.Message) string {
	if m.SenderID.IsZero() {
		return "System"
	}
	return m.SenderName
}

// senderType is one of the two that clients know (bridge 4.1), or none.
func senderType(m view.Message) string {
	if m.SenderKind == chat.Human || m.SenderKind == chat.Agent {
		return m.SenderKind
	}
	return ""
}
