// Package access says who acts and what they may do: an explicit Actor and pure
// policy functions over facts the caller has loaded. It reads nothing, stores
// nothing, and is asked by every route and topic.
package access

import (
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
)

// Kind is what acts.
type Kind uint8

// The kinds of actors. None is the zero value and may do nothing.
const (
	None Kind = iota
	Person
	Agent
	Job // the server itself: notices, sweepers
)

// Actor is who makes a request. It is passed explicitly, never through a context
// into a domain.
type Actor struct {
	Kind           Kind
	ID             id.Participant  // person or agent; zero for Job
	OwnerID        id.Participant  // the agent's owner; equals ID for a person
	OrganizationID id.Organization // the person's active workspace, or the agent's home
	SessionID      id.Session      // the person's session, for "this session"
	RawKey         bool            // agent authenticated by its raw API key (bridge 1.3)
	KeyVersion     int             // the agent key this token was made from
	PlatformAdmin  bool
	DisplayName    string
}

// System is the server acting by itself.
func System() Actor { return Actor{Kind: Job, DisplayName: "agntchat"} }

// IsPerson reports a signed-in person.
func (a Actor) IsPerson() bool { return a.Kind == Person }

// IsAgent reports an agent.
func (a Actor) IsAgent() bool { return a.Kind == Agent }

// RequirePerson requires a person.
func RequirePerson(a Actor) error {
	switch a.Kind {
	case Person:
		return nil
	case Agent:
		return fault.New(fault.Forbidden, "people_only", "Only a person can do this.")
	default:
		return fault.ErrUnauthenticated
	}
}

// RequireAgent requires an agent.
func RequireAgent(a Actor) error {
	switch a.Kind {
	case Agent:
		return nil
	case Person:
		return fault.New(fault.Forbidden, "agents_only", "Only an agent can do this.")
	default:
		return fault.ErrUnauthenticated
	}
}

// AgentFacts is what a decision about an agent needs.
type AgentFacts struct {
	ID              id.Participant
	OwnerID         id.Participant
	OrganizationIDs []id.Organization // pins; nil = everywhere
	Deleted         bool
}

// ManageAgent is for its owner only. To anybody else it looks absent.
func ManageAgent(a Actor, f AgentFacts) error {
	if a.Kind == Person && a.ID == f.OwnerID && !f.Deleted {
		return nil
	}
	return fault.ErrNotFound
}

// AdminWorkspace is for the people who run a workspace. role is theirs in it, as
// workspace knows it. To anybody else it looks absent.
func AdminWorkspace(a Actor, role string) error {
	if a.Kind == Person && (role == "owner" || role == "admin") {
		return nil
	}
	return fault.ErrNotFound
}

// RoomFacts is what a decision about a room needs. Role is "" for a non-member.
type RoomFacts struct {
	ID        id.Conversation
	Type      string
	CreatedBy id.Participant
	Role      string // admin | member | observer | ""
	Closed    bool   // resolved or abandoned huddle: read-only
	Deleted   bool
}

// ReadRoom is for members. Others cannot tell the room from an absent one.
func ReadRoom(a Actor, f RoomFacts) error {
	if f.Deleted || a.Kind == None {
		return fault.ErrNotFound
	}
	if a.Kind == Job || f.Role != "" {
		return nil
	}
	return fault.ErrNotFound
}

// ErrRoomClosed is the answer to whoever would change a huddle that was closed.
var ErrRoomClosed = fault.New(fault.Forbidden, "room_closed", "This room is closed.")

// PostInRoom is for members that are not observers, in a room that is not closed.
func PostInRoom(a Actor, f RoomFacts) error {
	if err := ReadRoom(a, f); err != nil {
		return err
	}
	if a.Kind == Job {
		return nil
	}
	if f.Role == "observer" {
		return fault.New(fault.Forbidden, "observer", "You may read this room, not write in it.")
	}
	if f.Closed {
		return ErrRoomClosed
	}
	return nil
}

// AdminRoom is for who may rename, seat and delete. Direct rooms have no administrator.
func AdminRoom(a Actor, f RoomFacts) error {
	if err := ReadRoom(a, f); err != nil {
		return err
	}
	if a.Kind == Job || f.Role == "admin" || f.CreatedBy == a.ID {
		return nil
	}
	return fault.New(fault.Forbidden, "admins_only", "Only an administrator of this room can do this.")
}

// ReplaceRoomMemory is for who administers the room and, in a direct room, which has no
// administrator, for its people.
func ReplaceRoomMemory(a Actor, f RoomFacts) error {
	if err := PostInRoom(a, f); err != nil {
		return err
	}
	if f.Type == "direct" && a.Kind == Person {
		return nil
	}
	return AdminRoom(a, f)
}

// DeleteFile is for who may delete the message that shows it.
func DeleteFile(a Actor, f RoomFacts, uploader, uploaderOwner id.Participant) error {
	if err := DeleteMessage(a, f, uploader, uploaderOwner); err != nil {
		if fault.Is(err, "not_yours") {
			return fault.New(fault.Forbidden, "not_yours", "Only who shared this file can delete it.")
		}
		return err
	}
	return nil
}

// DeleteMessage is for its author, an administrator of the room, and the owner of
// the agent that wrote it.
func DeleteMessage(a Actor, f RoomFacts, author, authorOwner id.Participant) error {
	if err := ReadRoom(a, f); err != nil {
		return err
	}
	if a.ID == author || (f.Role == "admin" && f.Type != "direct") || (!authorOwner.IsZero() && a.ID == authorOwner) {
		return nil
	}
	return fault.New(fault.Forbidden, "not_yours", "Only its author can delete this message.")
}
