package flow

import (
	"context"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
)

// SeenRoom is a room as somebody sees it; Guest: they are no member of its workspace.
type SeenRoom struct {
	view.Conversation
	Guest bool
}

// Conversations lists the caller's rooms, newest first, changed before the given
// time: those of the active workspace, and those of workspaces the caller is no
// member of. An agent sees all of its rooms.
func (c *Chat) Conversations(ctx context.Context, actor access.Actor, before *time.Time, limit int) ([]SeenRoom, error) {
	org := actor.OrganizationID
	if !actor.IsPerson() {
		org = id.Organization{}
	}
	rooms, err := view.PersonalRooms(ctx, c.DB, actor.ID, org, before, limit)
	if err != nil {
		return nil, err
	}
	return seen(actor, rooms), nil
}

// SideConversations lists the huddles in which the caller sits, below one room (zero:
// below any). A person sees all huddles below a room that they may read (decision 22).
func (c *Chat) SideConversations(ctx context.Context, actor access.Actor, parent id.Conversation, limit int) ([]SeenRoom, error) {
	if !parent.IsZero() && actor.IsPerson() {
		_, err := c.Readable(ctx, c.DB, actor, parent)
		if err == nil {
			rooms, err := view.HuddlesOf(ctx, c.DB, actor.ID, parent, limit)
			return seen(actor, rooms), err
		}
		if fault.KindOf(err) != fault.NotFound {
			return nil, err
		}
	}
	rooms, err := view.SideRooms(ctx, c.DB, actor.ID, parent, limit)
	if err != nil {
		return nil, err
	}
	return seen(actor, rooms), nil
}

func seen(actor access.Actor, rooms []view.Conversation) []SeenRoom {
	out := make([]SeenRoom, len(rooms))
	for i, r := range rooms {
		out[i] = SeenRoom{Conversation: r, Guest: actor.IsPerson() && r.OrganizationID != actor.OrganizationID}
	}
	return out
}

// Conversation is one room with everything.
func (c *Chat) Conversation(ctx context.Context, actor access.Actor, conv id.Conversation) (SeenRoom, error) {
	if _, err := c.Readable(ctx, c.DB, actor, conv); err != nil {
		return SeenRoom{}, err
	}
	r, err := view.OneConversation(ctx, c.DB, conv, actor.ID)
	if err != nil {
		return SeenRoom{}, err
	}
	return c.Seen(ctx, actor, r)
}

// Seen says how the caller sees a room.
func (c *Chat) Seen(ctx context.Context, actor access.Actor, r view.Conversation) (SeenRoom, error) {
	guests, err := view.Guests(ctx, c.DB, r.OrganizationID, []id.Participant{actor.ID})
	return SeenRoom{Conversation: r, Guest: guests[actor.ID]}, err
}

// Timeline is a page of messages, newest first, strictly older than before.
func (c *Chat) Timeline(ctx context.Context, actor access.Actor, conv id.Conversation, before *time.Time, limit int) ([]view.Message, error) {
	if _, err := c.Readable(ctx, c.DB, actor, conv); err != nil {
		return nil, err
	}
	return view.Timeline(ctx, c.DB, conv, before, limit)
}

// UnreadCounts counts what the caller has not read, in all rooms.
func (c *Chat) UnreadCounts(ctx context.Context, actor access.Actor) ([]view.Unread, error) {
	return view.UnreadOf(ctx, c.DB, actor.ID)
}

// RoomChanges is what happened in a room after a seq. Reset: that is too long ago
// or not of this room's history, the caller refetches the room.
type RoomChanges struct {
	Changes  []chat.Change
	Messages map[id.Message]view.Message // of the changes about messages, those that still exist
	Members  []view.Member
	Seq      int64 // current
	Reset    bool
}

// Changes heals a gap (decision 20): the changes with a number above after,
// oldest first, at most limit.
func (c *Chat) Changes(ctx context.Context, actor access.Actor, conv id.Conversation, after int64, limit int) (RoomChanges, error) {
	if _, err := c.Readable(ctx, c.DB, actor, conv); err != nil {
		return RoomChanges{}, err
	}
	if after < 0 {
		return RoomChanges{}, fault.New(fault.Invalid, "invalid", "after must be a sequence number.").With("after", "range", "must be 0 or more")
	}
	room, err := chat.Get(ctx, c.DB, conv)
	if err != nil {
		return RoomChanges{}, err
	}
	out := RoomChanges{Seq: room.Version}
	if after == room.Version {
		return out, nil
	}
	if after > room.Version {
		out.Reset = true
		return out, nil
	}
	if out.Changes, err = chat.Changes(ctx, c.DB, conv, after, limit); err != nil {
		return RoomChanges{}, err
	}
	if len(out.Changes) == 0 || out.Changes[0].Seq != after+1 {
		out.Changes, out.Reset = nil, true
		return out, nil
	}
	var ids []id.Message
	for _, ch := range out.Changes {
		switch ch.Event {
		case "new_message", "message_updated", "message_metadata_changed":
			ids = append(ids, id.From[id.Message](ch.SubjectID))
		case "member_added":
			if out.Members == nil {
				if out.Members, err = view.MembersOf(ctx, c.DB, conv); err != nil {
					return RoomChanges{}, err
				}
			}
		}
	}
	out.Messages, err = view.MessagesByID(ctx, c.DB, ids)
	return out, err
}
