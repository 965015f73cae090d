package present

import (
	"encoding/json"
	"fmt"

	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// Change is one persisted change as its event would be now. Every number of a page
// is there, so that a client sees no gap: a message that is gone meanwhile is
// message_deleted, a member that is gone meanwhile is noop.
func Change(conv id.Conversation, ch chat.Change, messages map[id.Message]view.Message, members []view.Member, online Online) (wire.Change, error) {
	out := wire.Change{Seq: ch.Seq, Event: ch.Event}
	switch ch.Event {
	case "new_message", "message_updated", "message_metadata_changed":
		m, ok := messages[id.From[id.Message](ch.SubjectID)]
		switch {
		case !ok:
			out.Event = "message_deleted"
			out.Payload = wire.MessageDeleted{MessageID: ch.SubjectID.String(), ConversationID: conv.String(), Seq: ch.Seq}
		case ch.Event != "message_metadata_changed":
			w := Message(m)
			w.Seq = ch.Seq
			out.Payload = w
		default:
			out.Payload = wire.MessageMetadataChanged{MessageID: m.ID.String(), ConversationID: conv.String(), Metadata: object(m.Metadata), Seq: ch.Seq}
		}
		return out, nil
	case "member_added":
		for _, m := range members {
			if m.ParticipantID.UUID() == ch.SubjectID {
				out.Payload = wire.MemberChanged{ConversationID: conv.String(), Member: Member(m, online), Seq: ch.Seq}
				return out, nil
			}
		}
		out.Event, out.Payload = "noop", wire.ConversationRef{ConversationID: conv.String(), Seq: ch.Seq}
		return out, nil
	}
	payload := map[string]json.RawMessage{}
	if err := json.Unmarshal(object(ch.Payload), &payload); err != nil {
		return out, fmt.Errorf("read change: %w", err)
	}
	seq, err := json.Marshal(ch.Seq)
	if err != nil {
		return out, fmt.Errorf("encode change: %w", err)
	}
	payload["seq"] = seq
	out.Payload = payload
	return out, nil
}
