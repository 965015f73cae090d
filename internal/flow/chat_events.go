package flow

import (
	"encoding/json"

	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
)

// The events of rooms and messages. Package channel turns each into frames. Their
// Topic is the room's, also when they go to user topics: all events of one room
// have one lane (decision 21).

// inRoom is the topic of a room's events.
type inRoom struct{ ConversationID id.Conversation }

// Topic implements event.Event.
func (e inRoom) Topic() string { return event.ConversationTopic(e.ConversationID.String()) }

// MessagePosted is a new row of a room, hidden ones too.
type MessagePosted struct {
	inRoom
	Message view.Message
	Seq     int64
	// Before runs right before the event is sent; nil does nothing. It ends the
	// stream that the message takes the place of: no frame of it may come after.
	Before func()
	// More says, when the event is sent, whether another message of the room is about
	// to follow; nil says no.
	More func() bool
}

// Recipients are participants that hear the same of one thing.
type Recipients struct {
	Category *string // notification category; nil is "not for this person"
	IDs      []id.Participant
}

// ConversationUpdated moves a row up in the lists of everybody but the author.
type ConversationUpdated struct {
	inRoom
	Message view.Message
	To      []Recipients
}

// ConversationRead tells a person's devices that they have read a room.
type ConversationRead struct {
	inRoom
	Participant id.Participant
}

// MessageDeleted is a message that is gone.
type MessageDeleted struct {
	inRoom
	MessageID id.Message
	Seq       int64
}

// MessageUpdated is a row whose content or files have changed.
type MessageUpdated struct {
	inRoom
	Message view.Message
	Seq     int64
}

// MessageMetadataChanged carries the whole metadata of a row.
type MessageMetadataChanged struct {
	inRoom
	MessageID id.Message
	Metadata  json.RawMessage
	Seq       int64
}

// ConversationCreated goes to each of To with the whole room.
type ConversationCreated struct {
	inRoom
	Conversation view.Conversation
	To           []id.Participant
	// Guests are those of To who are no members of the room's workspace: they see it in each of theirs.
	Guests map[id.Participant]bool
}

// ConversationDeleted goes to all who were members.
type ConversationDeleted struct {
	inRoom
	To  []id.Participant
	Seq int64
}

// TitleChanged goes to the room and to its members.
type TitleChanged struct {
	inRoom
	Title *string
	To    []id.Participant
	Seq   int64
}

// AvatarChanged goes to the room and to its members.
type AvatarChanged struct {
	inRoom
	AvatarURL *string
	To        []id.Participant
	Seq       int64
}

// SettingsChanged goes to the room and to its members.
type SettingsChanged struct {
	inRoom
	AgentsAddWithoutAsking bool
	To                     []id.Participant
	Seq                    int64
}

// RoomMetadataChanged carries the whole metadata of a room.
type RoomMetadataChanged struct {
	inRoom
	Metadata json.RawMessage
	To       []id.Participant
	Seq      int64
}

// MemberAdded is a new member, or one whose role has changed. It goes to the room
// and to its members.
type MemberAdded struct {
	inRoom
	Member view.Member
	To     []id.Participant
	Seq    int64
}

// MemberRemoved goes to the room and to its members; the one who is out hears
// removed_from_conversation and loses the topic.
type MemberRemoved struct {
	inRoom
	Member view.Member
	To     []id.Participant
	Below  []id.Conversation // huddles that they may look into no longer
	Seq    int64
}

// SubConversationCreated tells a room that a huddle below it was opened or closed.
type SubConversationCreated struct {
	inRoom
	HuddleID id.Conversation
	Seq      int64
}

// HuddleChanged tells a room that something has happened in a huddle below it. It is
// no change of the room: it has no number.
type HuddleChanged struct {
	inRoom
	HuddleID id.Conversation
}

// WriterNotice is for the writer of a message alone: something about it did not
// work, nothing is lost.
type WriterNotice struct {
	inRoom
	Participant id.Participant
	MessageID   id.Message
	Code        string
	Params      map[string]any
	Text        string
}

// RenameResolved closes the question for a room's name.
type RenameResolved struct {
	inRoom
	To []id.Participant
}
