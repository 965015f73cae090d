package flow

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
)

// The limits of rooms.
const (
	maxTitle        = 200
	maxRoomMetadata = 64 << 10
	maxInvited      = 500 // members in one request
	maxMembers      = 5000
)

// NewConversation is what somebody wants to make.
type NewConversation struct {
	Type      string // direct | group | channel
	Title     *string
	MemberIDs []id.Participant // without the caller, or with
	Metadata  json.RawMessage
}

var errInvalidRoom = fault.New(fault.Invalid, "invalid", "This conversation cannot be made.")

// CreateConversation makes a room, with the caller as its administrator, or finds
// the direct room of the two (decision 6); created tells which. Members must be
// reachable by the caller; a group may have one other member and no title.
func (c *Chat) CreateConversation(ctx context.Context, actor access.Actor, n NewConversation) (out view.Conversation, created bool, err error) {
	if err := n.check(actor); err != nil {
		return out, false, err
	}
	err = c.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) (err error) {
		out, created, err = c.CreateConversationTx(ctx, tx, actor, n)
		return err
	})
	return out, created, err
}

func (n *NewConversation) check(actor access.Actor) error {
	if n.Type == "" {
		n.Type = chat.Group
		if len(n.MemberIDs) == 1 {
			n.Type = chat.Direct
		}
	}
	others := make([]id.Participant, 0, len(n.MemberIDs))
	for _, p := range n.MemberIDs {
		if p != actor.ID && !slices.Contains(others, p) {
			others = append(others, p)
		}
	}
	n.MemberIDs = others
	title, err := cleanTitle(n.Title)
	if err != nil {
		return err
	}
	n.Title = title
	meta, err := object(n.Metadata)
	if err != nil || len(n.Metadata) > maxRoomMetadata {
		return errInvalidRoom.With("metadata", "object", "metadata must be a JSON object of at most 64 KiB.")
	}
	if n.Metadata, err = pack(meta); err != nil {
		return err
	}
	switch {
	case n.Type != chat.Direct && n.Type != chat.Group && n.Type != chat.Channel:
		return errInvalidRoom.With("type", "unknown", "type must be direct, group or channel.")
	case n.Type == chat.Direct && len(others) != 1:
		return errInvalidRoom.With("memberIds", "count", "A direct conversation has exactly one other member.")
	case len(others) == 0:
		return errInvalidRoom.With("memberIds", "required", "Choose at least one other member.")
	case len(others) > maxInvited:
		return errInvalidRoom.With("memberIds", "too_many", "At most 500 members can be added at once.")
	}
	return nil
}

// cleanTitle trims a title; an empty one is none.
func cleanTitle(t *string) (*string, error) {
	if t == nil {
		return nil, nil
	}
	s := strings.Join(strings.Fields(*t), " ")
	switch {
	case s == "":
		return nil, nil
	case !clean(s) || strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }):
		return nil, errInvalidRoom.With("title", "characters", "The title holds characters that are not allowed.")
	case utf8.RuneCountInString(s) > maxTitle:
		return nil, errInvalidRoom.With("title", "too_long", "A title may have at most 200 characters.")
	}
	return &s, nil
}

// CreateConversationTx is CreateConversation inside a transaction.
func (c *Chat) CreateConversationTx(ctx context.Context, tx *pg.Tx, actor access.Actor, n NewConversation) (view.Conversation, bool, error) {
	if err := n.check(actor); err != nil {
		return view.Conversation{}, false, err
	}
	known, err := view.Reachable(ctx, tx, actor.ID, actor.OwnerID, actor.OrganizationID, n.MemberIDs)
	if err != nil {
		return view.Conversation{}, false, err
	}
	for _, p := range n.MemberIDs {
		if _, ok := known[p]; !ok {
			return view.Conversation{}, false, fault.New(fault.Invalid, "unknown_member", "Somebody you chose does not exist, or you may not write to them.").
				With("memberIds", "unknown", p.String())
		}
	}
	row := chat.NewRoom{
		ID: id.New[id.Conversation](), Type: n.Type, Title: n.Title, CreatedBy: actor.ID, OrganizationID: actor.OrganizationID, Metadata: n.Metadata,
	}
	if n.Type == chat.Direct {
		row.Title = nil // named after the other member
		row.DirectKey = new(chat.DirectKey(actor.ID, n.MemberIDs[0]))
		if found, err := c.existingDirect(ctx, tx, actor, row); err != nil || found != nil {
			return deconv(found), false, err
		}
	}
	made, err := chat.CreateTx(ctx, tx, row)
	if err != nil {
		return view.Conversation{}, false, err
	}
	if !made { // somebody else was faster
		found, err := c.existingDirect(ctx, tx, actor, row)
		return deconv(found), false, err
	}
	role := chat.Admin
	if n.Type == chat.Direct {
		role = chat.Member
	}
	if _, err := chat.AddMembersTx(ctx, tx, row.ID, role, actor.ID); err != nil {
		return view.Conversation{}, false, err
	}
	if _, err := chat.AddMembersTx(ctx, tx, row.ID, chat.Member, n.MemberIDs...); err != nil {
		return view.Conversation{}, false, err
	}
	full, err := view.OneConversation(ctx, tx, row.ID, id.Participant{})
	if err != nil {
		return view.Conversation{}, false, err
	}
	if err := c.tellCreated(ctx, tx, full, append([]id.Participant{actor.ID}, n.MemberIDs...)); err != nil {
		return view.Conversation{}, false, err
	}
	return full, true, nil
}

func deconv(c *view.Conversation) view.Conversation {
	if c == nil {
		return view.Conversation{}
	}
	return *c
}

// existingDirect is the direct room of the pair, nil when there is none. It cannot
// be left, so both still sit in it.
func (c *Chat) existingDirect(ctx context.Context, tx *pg.Tx, actor access.Actor, row chat.NewRoom) (*view.Conversation, error) {
	conv, err := chat.FindDirect(ctx, tx, row.OrganizationID, *row.DirectKey)
	if err != nil || conv.IsZero() {
		return nil, err
	}
	full, err := view.OneConversation(ctx, tx, conv, actor.ID)
	return &full, err
}

// tellCreated sends the whole room to those who now have a seat.
func (c *Chat) tellCreated(ctx context.Context, tx *pg.Tx, full view.Conversation, to []id.Participant) error {
	guests, err := view.Guests(ctx, tx, full.OrganizationID, to)
	if err != nil {
		return err
	}
	full.Unread, full.MentionCount, full.LastReadSeq = 0, 0, full.MessageSeq
	tx.Publish(lane(full.ID), ConversationCreated{inRoom: inRoom{full.ID}, Conversation: full, To: to, Guests: guests})
	return nil
}
