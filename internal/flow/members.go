package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/participant"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
)

// AddMember gives somebody a seat; administrators of groups and channels only.
// Somebody who sits there already stays, which is no error. People who look into a
// huddle may take a seat in it themselves.
func (c *Chat) AddMember(ctx context.Context, actor access.Actor, conv id.Conversation, who id.Participant) (out view.Member, err error) {
	if who == actor.ID && actor.IsPerson() {
		return c.JoinHuddle(ctx, actor, conv)
	}
	err = c.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		out, err = c.AddMemberTx(ctx, tx, actor, conv, who)
		return err
	})
	return out, err
}

// AddMemberTx is AddMember within a transaction; it locks the room.
func (c *Chat) AddMemberTx(ctx context.Context, tx *pg.Tx, actor access.Actor, conv id.Conversation, who id.Participant) (out view.Member, err error) {
	room, err := c.lock(ctx, tx, actor, conv)
	if err != nil {
		return out, err
	}
	if room.Closed() {
		return out, access.ErrRoomClosed
	}
	if room.Type == chat.Direct {
		return out, fault.New(fault.Invalid, "direct_room", "A direct conversation has exactly two members. Make a group instead.")
	}
	if err := access.AdminRoom(actor, facts(room.Room, room.role)); err != nil {
		return out, err
	}
	if m, ok, err := view.MemberOf(ctx, tx, conv, who); err != nil || ok {
		return m, err
	}
	known, err := view.Reachable(ctx, tx, actor.ID, actor.OwnerID, room.OrganizationID, []id.Participant{who})
	if err != nil {
		return out, err
	}
	if _, ok := known[who]; !ok {
		return out, fault.New(fault.Invalid, "unknown_member", "This person or agent does not exist, or you may not add them.").
			With("participantId", "unknown", "not known to you")
	}
	return c.addTx(ctx, tx, room, who, chat.Member)
}

// addTx gives a seat in a locked room and tells everybody: the newcomer gets the
// whole room before any event of it.
func (c *Chat) addTx(ctx context.Context, tx *pg.Tx, room *locked, who id.Participant, role string) (view.Member, error) {
	if len(room.seats) >= maxMembers {
		return view.Member{}, fault.Newf(fault.Invalid, "room_full", "A room may have at most %d members.", maxMembers)
	}
	if _, err := chat.AddMembersTx(ctx, tx, room.ID, role, who); err != nil {
		return view.Member{}, err
	}
	full, err := view.OneConversation(ctx, tx, room.ID, id.Participant{})
	if err != nil {
		return view.Member{}, err
	}
	if room.seats, err = view.SeatsOf(ctx, tx, room.ID); err != nil {
		return view.Member{}, err
	}
	m, ok := full.Member(who)
	if !ok {
		return view.Member{}, fault.ErrNotFound
	}
	seq, err := record(ctx, tx, room.ID, "member_added", who.UUID(), nil)
	if err != nil {
		return view.Member{}, err
	}
	full.Version = seq
	if err := c.tellCreated(ctx, tx, full, []id.Participant{who}); err != nil {
		return view.Member{}, err
	}
	tx.Publish(lane(room.ID), MemberAdded{inRoom: inRoom{room.ID}, Member: m, To: room.everybody(who), Seq: seq})
	stirred(tx, room.Room)
	return m, nil
}

// RemoveMember takes a seat away: one's own (to leave), anybody's for an
// administrator, an agent's for its owner. When the last administrator leaves,
// the member who has been there longest follows. What the agent had to answer in
// the room is withdrawn.
func (c *Chat) RemoveMember(ctx context.Context, actor access.Actor, conv id.Conversation, who id.Participant) error {
	return c.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		room, err := c.lock(ctx, tx, actor, conv)
		if err != nil {
			return err
		}
		m, ok, err := view.MemberOf(ctx, tx, conv, who)
		if err != nil {
			return err
		}
		if !ok {
			return fault.ErrNotFound
		}
		if who != actor.ID && m.OwnerID != actor.ID {
			if err := access.AdminRoom(actor, facts(room.Room, room.role)); err != nil {
				return err
			}
		}
		if room.Type == chat.Direct && who != actor.ID {
			return fault.New(fault.Invalid, "direct_room", "Nobody can be removed from a direct conversation.")
		}
		if room.Type == chat.Direct {
			return fault.New(fault.Invalid, "direct_room", "A direct conversation cannot be left. Delete it instead.")
		}
		return c.removeTx(ctx, tx, room, m)
	})
}

func (c *Chat) removeTx(ctx context.Context, tx *pg.Tx, room *locked, m view.Member) error {
	if _, err := chat.RemoveMemberTx(ctx, tx, room.ID, m.ParticipantID); err != nil {
		return err
	}
	rest := room.everybody(m.ParticipantID)
	members, err := view.MembersOf(ctx, tx, room.ID)
	if err != nil {
		return err
	}
	if heir, ok := heirOf(members, m); ok {
		if err := c.promote(ctx, tx, room, heir, rest); err != nil {
			return err
		}
	}
	if m.IsAgent() && c.Forget != nil {
		if err := c.Forget(ctx, tx, room.ID, m.ParticipantID); err != nil {
			return err
		}
	}
	seq, err := record(ctx, tx, room.ID, "member_removed", m.ParticipantID.UUID(), map[string]any{
		"conversationId": room.ID, "participantId": m.ParticipantID, "displayName": m.DisplayName,
	})
	if err != nil {
		return err
	}
	below, err := closeLooks(ctx, tx, room.ID, m)
	if err != nil {
		return err
	}
	tx.Publish(lane(room.ID), MemberRemoved{inRoom: inRoom{room.ID}, Member: m, To: rest, Below: below, Seq: seq})
	stirred(tx, room.Room)
	tx.AfterCommit(func() { c.Streams.Cancel(room.ID.String(), m.ParticipantID.String()) })
	return nil
}

// LeaveGroups gives up all seats of a person in groups and channels, before the account
// goes: what nobody is left to administer passes on, as when one leaves. Direct rooms
// stay with whom they were shared.
func (c *Chat) LeaveGroups(ctx context.Context, actor access.Actor) error {
	rooms, err := chat.GroupsOf(ctx, c.DB, actor.ID)
	if err != nil {
		return err
	}
	for _, conv := range rooms {
		if err := c.RemoveMember(ctx, actor, conv, actor.ID); err != nil && fault.KindOf(err) != fault.NotFound {
			return err
		}
	}
	return nil
}

// promote makes a member an administrator and tells the others.
func (c *Chat) promote(ctx context.Context, tx *pg.Tx, room *locked, who id.Participant, to []id.Participant) error {
	if err := chat.SetRoleTx(ctx, tx, room.ID, who, chat.Admin); err != nil {
		return err
	}
	m, _, err := view.MemberOf(ctx, tx, room.ID, who)
	if err != nil {
		return err
	}
	seq, err := record(ctx, tx, room.ID, "member_added", who.UUID(), nil)
	if err != nil {
		return err
	}
	tx.Publish(lane(room.ID), MemberAdded{inRoom: inRoom{room.ID}, Member: m, To: to, Seq: seq})
	return nil
}

// heirOf is who becomes administrator when the last one goes: people before agents.
func heirOf(members []view.Member, gone view.Member) (id.Participant, bool) {
	if gone.Role != chat.Admin {
		return id.Participant{}, false
	}
	var heir id.Participant
	for _, m := range members {
		switch {
		case m.ParticipantID == gone.ParticipantID || m.Role == chat.Observer || m.Status == participant.Deleted:
		case m.Role == chat.Admin:
			return id.Participant{}, false
		case heir.IsZero() && !m.IsAgent():
			heir = m.ParticipantID
		}
	}
	return heir, !heir.IsZero()
}
