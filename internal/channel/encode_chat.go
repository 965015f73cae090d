package channel

import (
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// ChatEvents encodes the events of rooms and messages (desktop 3.4, 3.5). online
// may be nil.
func ChatEvents(rooms *Rooms, online present.Online) Encode {
	return func(ev event.Event) ([]Out, bool) {
		topic := []string{ev.Topic()}
		switch e := ev.(type) {
		case flow.MessagePosted:
			m := present.Message(e.Message)
			m.Seq = e.Seq
			return []Out{{Topics: topic, Event: "new_message", Payload: m, Before: e.Before, More: e.More != nil && e.More()}}, true
		case flow.ConversationUpdated:
			outs := make([]Out, len(e.To))
			for i, to := range e.To {
				outs[i] = Out{Topics: userTopics(to.IDs), Event: "conversation_updated", Payload: present.Updated(e.Message, to.Category)}
			}
			return outs, true
		case flow.ConversationRead:
			return []Out{{Topics: userTopics([]id.Participant{e.Participant}), Event: "conversation_read", Payload: ref(e.ConversationID, 0)}}, true
		case flow.MessageDeleted:
			return []Out{{Topics: topic, Event: "message_deleted", Payload: wire.MessageDeleted{
				MessageID: e.MessageID.String(), ConversationID: e.ConversationID.String(), Seq: e.Seq,
			}}}, true
		case flow.MessageUpdated:
			m := present.Message(e.Message)
			m.Seq = e.Seq
			outs := []Out{{Topics: topic, Event: "message_updated", Payload: m}}
			if e.Message.ContentType == "file" { // existing clients take the same id again as news of its content (desktop 3.4)
				outs = append(outs, Out{Topics: topic, Event: "new_message", Payload: m})
			}
			return outs, true
		case flow.MessageMetadataChanged:
			return []Out{{Topics: topic, Event: "message_metadata_changed", Payload: wire.MessageMetadataChanged{
				MessageID: e.MessageID.String(), ConversationID: e.ConversationID.String(), Metadata: e.Metadata, Seq: e.Seq,
			}}}, true
		case flow.WriterNotice:
			return []Out{{Topics: userTopics([]id.Participant{e.Participant}), Event: "notice", Payload: wire.WriterNotice{
				ConversationID: e.ConversationID.String(), MessageID: e.MessageID.String(), Code: e.Code, Params: e.Params, Text: e.Text,
			}}}, true
		default:
			return roomEvents(rooms, online, topic, ev)
		}
	}
}

// roomEvents encodes what happens to a room itself.
func roomEvents(rooms *Rooms, online present.Online, topic []string, ev event.Event) ([]Out, bool) {
	switch e := ev.(type) {
	case flow.ConversationCreated:
		return created(e, online), true
	case flow.ConversationDeleted:
		gone := ref(e.ConversationID, e.Seq)
		return []Out{{Topics: userTopics(e.To), Event: "conversation_deleted", Payload: gone, After: func() {
			rooms.close(e.ConversationID, id.Participant{}, "conversation_deleted", gone)
		}}}, true
	case flow.TitleChanged:
		return both(topic, e.To, "conversation_title_changed", wire.ConversationTitleChanged{
			ConversationID: e.ConversationID.String(), Title: e.Title, Seq: e.Seq,
		}), true
	case flow.AvatarChanged:
		return both(topic, e.To, "conversation_avatar_changed", wire.ConversationAvatarChanged{
			ConversationID: e.ConversationID.String(), AvatarURL: e.AvatarURL, Seq: e.Seq,
		}), true
	case flow.SettingsChanged:
		return both(topic, e.To, "conversation_settings_changed", wire.ConversationSettingsChanged{
			ConversationID: e.ConversationID.String(), AgentsAddWithoutAsking: e.AgentsAddWithoutAsking, Seq: e.Seq,
		}), true
	case flow.RoomMetadataChanged:
		return both(topic, e.To, "conversation_metadata_changed", wire.ConversationMetadataChanged{
			ConversationID: e.ConversationID.String(), Metadata: e.Metadata, Seq: e.Seq,
		}), true
	case flow.MemberAdded:
		outs := both(topic, e.To, "member_added", wire.MemberChanged{
			ConversationID: e.ConversationID.String(), Member: present.Member(e.Member, online), Seq: e.Seq,
		})
		outs[0].Before = func() { rooms.membersChanged(e.ConversationID) }
		return append(outs, isHere(e.Member, e.To, online)...), true
	case flow.MemberRemoved:
		left := ref(e.ConversationID, e.Seq)
		outs := both(topic, e.To, "member_removed", wire.MemberChanged{
			ConversationID: e.ConversationID.String(), Member: present.Member(e.Member, online), Seq: e.Seq,
		})
		outs[0].Before = func() {
			rooms.membersChanged(e.ConversationID)
			rooms.membersChanged(e.Below...)
		}
		return append(outs, Out{
			Topics: userTopics([]id.Participant{e.Member.ParticipantID}), Event: "removed_from_conversation", Payload: left,
			After: func() {
				rooms.close(e.ConversationID, e.Member.ParticipantID, "removed_from_conversation", left)
				for _, h := range e.Below {
					rooms.close(h, e.Member.ParticipantID, "removed_from_conversation", ref(h, 0))
				}
			},
		}), true
	case flow.SubConversationCreated:
		return []Out{{Topics: topic, Event: "sub_conversation_created", Payload: wire.SubConversation{
			ConversationID: e.ConversationID.String(), HuddleID: e.HuddleID.String(), Seq: e.Seq,
		}}}, true
	case flow.HuddleChanged:
		return []Out{{Topics: topic, Event: "huddle_changed", Payload: wire.SubConversation{ConversationID: e.ConversationID.String(), HuddleID: e.HuddleID.String()}}}, true
	case flow.RenameResolved:
		return []Out{{Topics: userTopics(e.To), Event: "conversation_rename_resolved", Payload: ref(e.ConversationID, 0)}}, true
	default:
		return nil, false
	}
}

// both sends one payload to the room and to the members' own topics: those who
// have not joined the room show it in their list.
func both(topic []string, to []id.Participant, name string, payload any) []Out {
	return []Out{{Topics: append(userTopics(to), topic...), Event: name, Payload: payload}}
}

// created sends the whole room; guests see it in each of their workspaces.
func created(e flow.ConversationCreated, online present.Online) []Out {
	var members, guests []id.Participant
	for _, p := range e.To {
		if e.Guests[p] {
			guests = append(guests, p)
		} else {
			members = append(members, p)
		}
	}
	var outs []Out
	for guest, to := range map[bool][]id.Participant{false: members, true: guests} {
		if len(to) > 0 {
			outs = append(outs, Out{Topics: userTopics(to), Event: "new_conversation", Payload: wire.NewConversation{
				Conversation: present.Conversation(e.Conversation, guest, online),
			}})
		}
	}
	if len(e.Conversation.Members) > mostIntroduced {
		return outs
	}
	for _, m := range e.Conversation.Members {
		outs = append(outs, isHere(m, e.To, online)...)
	}
	return outs
}

// mostIntroduced bounds the rooms whose new members are told who is there: beyond,
// they learn it with their next presence_snapshot.
const mostIntroduced = 200

// isHere tells people who may meet a member for the first time that it is online:
// their presence_snapshot did not know it. An agent's owner knows its agent, and the
// device it runs on.
func isHere(m view.Member, to []id.Participant, online present.Online) []Out {
	others := make([]id.Participant, 0, len(to))
	for _, p := range to {
		if p != m.ParticipantID && p != m.OwnerID {
			others = append(others, p)
		}
	}
	if len(others) == 0 || online == nil || !online(m.ParticipantID) {
		return nil
	}
	who := m.ParticipantID.String()
	if m.Kind == "agent" {
		return []Out{{Topics: userTopics(others), Event: "agent_status_changed", Payload: wire.AgentStatusChanged{AgentID: who, Presence: present.OnlineLocal, Online: true}}}
	}
	return []Out{{Topics: userTopics(others), Event: "human_status_changed", Payload: wire.HumanStatusChanged{ParticipantID: who, Online: true}}}
}

func ref(c id.Conversation, seq int64) wire.ConversationRef {
	return wire.ConversationRef{ConversationID: c.String(), Seq: seq}
}
