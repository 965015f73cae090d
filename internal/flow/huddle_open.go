package flow

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/task"
	"github.com/agntchat/agntchat/internal/view"
)

// The limits of huddles.
const (
	maxHuddlePeers = 9
	maxHuddleDepth = 3
	maxOpenHuddles = 100  // below one room
	maxHuddleGoal  = 2000 // characters
)

// NewHuddle is a side conversation that somebody wants below a room they write in
// (bridge contract 3.3).
type NewHuddle struct {
	Source  id.Conversation
	Anchor  id.Message // the message that it belongs to; zero for none
	Peers   []id.Participant
	Topic   string
	Goal    string
	Message string // a first text; "" is none
	// ClientKey is the caller's own name for Message, as of any post.
	ClientKey    string
	OpenedByTask id.Task // the task for which it is opened; zero for none, and any that is not the caller's
}

var errManyHuddles = fault.Newf(fault.Conflict, "too_many_huddles", "%d huddles are open in this conversation: close some first.", maxOpenHuddles)

var errInvalidHuddle = fault.New(fault.Invalid, "invalid", "This huddle cannot be opened.")

// OpenHuddle finds or makes the open huddle of exactly the actor and the peers about
// this topic, without a topic about this message, and posts a first text when there
// is one. Peers are members of the room, or reachable by the actor. NotFound for a
// room that the actor may not see, Forbidden where they may only read.
func (c *Chat) OpenHuddle(ctx context.Context, actor access.Actor, n NewHuddle) (out view.Conversation, err error) {
	if n.Topic, err = cleanLine("huddleTopic", n.Topic, maxTitle); err != nil {
		return out, err
	}
	if n.Goal = strings.TrimSpace(n.Goal); utf8.RuneCountInString(n.Goal) > maxHuddleGoal || !clean(n.Goal) {
		return out, errInvalidHuddle.With("huddleGoal", "too_long", fmt.Sprintf("at most %d characters", maxHuddleGoal))
	}
	if c.Posting != nil {
		if wait, ok := c.Posting.Take(actor.ID.String()); !ok {
			return out, fault.New(fault.Exhausted, "rate_limited", "You are posting too fast. Try again in a moment.").After(wait)
		}
	}
	var stale *StaleError
	err = c.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		source, err := c.lock(ctx, tx, actor, n.Source)
		if err != nil {
			return err
		}
		if err := access.PostInRoom(actor, facts(source.Room, source.role)); err != nil {
			return err
		}
		conv, err := c.openHuddleTx(ctx, tx, actor, source, n, true)
		if err != nil {
			return err
		}
		if n.Message != "" {
			posted, err := c.PostTx(ctx, tx, actor, Post{ConversationID: conv, Content: n.Message, ClientKey: n.ClientKey, plain: true})
			if err != nil {
				return err
			}
			stale = posted.Stale
		}
		out, err = view.OneConversation(ctx, tx, conv, actor.ID)
		return err
	})
	if err == nil && stale != nil {
		err = stale
	}
	return out, err
}

// openHuddleTx is OpenHuddle in a transaction that has locked the source, in which
// the actor may write. byAnchor tells huddles without a topic apart by their message.
func (c *Chat) openHuddleTx(ctx context.Context, tx *pg.Tx, actor access.Actor, source *locked, n NewHuddle, byAnchor bool) (id.Conversation, error) {
	peers, err := c.huddlePeers(ctx, tx, actor, source, n.Peers)
	if err != nil {
		return id.Conversation{}, err
	}
	if len(peers) == 1 && source.Type == chat.Direct && slices.ContainsFunc(source.seats, func(s view.Seat) bool { return s.ID == peers[0] }) {
		return source.ID, nil // the two are alone already
	}
	h := chat.Huddle{Huddle: true, Status: chat.HuddleOpen, Topic: n.Topic, Goal: n.Goal, SourceRoomID: source.ID}
	if !n.Anchor.IsZero() {
		if _, ok, err := chat.SeqOf(ctx, tx, source.ID, n.Anchor); err != nil {
			return id.Conversation{}, err
		} else if !ok && byAnchor {
			return id.Conversation{}, errInvalidHuddle.With("sourceMessageId", "unknown", "This message is not in the room.")
		}
		h.SourceMessageID = &n.Anchor
	}
	if !n.OpenedByTask.IsZero() {
		t, err := task.Get(ctx, tx, n.OpenedByTask)
		if goneIsNil(err) != nil {
			return id.Conversation{}, err
		}
		if err == nil && t.Assigned(actor.ID) { // one that was given to somebody else meanwhile is no reason to say nothing
			h.OpenedByTaskID = &n.OpenedByTask
		}
	}
	anchor := n.Anchor
	if !byAnchor {
		anchor = id.Message{}
	}
	key := chat.HuddleKey(append([]id.Participant{actor.ID}, peers...), n.Topic, anchor)
	found, err := chat.FindHuddle(ctx, tx, source.ID, key)
	if err != nil || !found.IsZero() {
		return found, err
	}
	depth, err := chat.Depth(ctx, tx, source.ID)
	if err != nil {
		return id.Conversation{}, err
	}
	open, err := chat.OpenHuddles(ctx, tx, source.ID)
	if err != nil {
		return id.Conversation{}, err
	}
	if open >= maxOpenHuddles {
		return id.Conversation{}, errManyHuddles
	}
	if depth >= maxHuddleDepth {
		return id.Conversation{}, fault.Newf(fault.Invalid, "huddle_too_deep", "A huddle may lie in at most %d others.", maxHuddleDepth-1)
	}
	return c.makeHuddleTx(ctx, tx, actor, source, peers, h, key)
}

func (c *Chat) makeHuddleTx(ctx context.Context, tx *pg.Tx, actor access.Actor, source *locked, peers []id.Participant, h chat.Huddle, key string) (id.Conversation, error) {
	meta, err := h.Metadata()
	if err != nil {
		return id.Conversation{}, err
	}
	row := chat.NewRoom{
		ID: id.New[id.Conversation](), Type: chat.Group, CreatedBy: actor.ID, OrganizationID: source.OrganizationID, Metadata: meta,
		ParentConversationID: source.ID, HuddleKey: &key,
	}
	if h.Topic != "" {
		row.Title = &h.Topic
	}
	if _, err := chat.CreateTx(ctx, tx, row); err != nil {
		return id.Conversation{}, err
	}
	if _, err := chat.AddMembersTx(ctx, tx, row.ID, chat.Admin, actor.ID); err != nil {
		return id.Conversation{}, err
	}
	if _, err := chat.AddMembersTx(ctx, tx, row.ID, chat.Member, peers...); err != nil {
		return id.Conversation{}, err
	}
	full, err := view.OneConversation(ctx, tx, row.ID, id.Participant{})
	if err != nil {
		return id.Conversation{}, err
	}
	if err := c.tellCreated(ctx, tx, full, append([]id.Participant{actor.ID}, peers...)); err != nil {
		return id.Conversation{}, err
	}
	return row.ID, c.tellHuddle(ctx, tx, source.ID, row.ID)
}

// tellHuddle lets a room know that a huddle below it was opened or closed. The room
// is locked.
func (c *Chat) tellHuddle(ctx context.Context, tx *pg.Tx, source, huddle id.Conversation) error {
	seq, err := record(ctx, tx, source, "sub_conversation_created", huddle.UUID(), map[string]any{"conversationId": source, "huddleId": huddle})
	if err != nil {
		return err
	}
	tx.Publish(lane(source), SubConversationCreated{inRoom: inRoom{source}, HuddleID: huddle, Seq: seq})
	return nil
}

// stirred lets those who look at the room above know that something was said in a
// huddle, or that somebody came or went. It is only live.
func stirred(tx *pg.Tx, room chat.Room) {
	if room.IsHuddle() {
		tx.Publish(lane(room.ID), HuddleChanged{inRoom: inRoom{room.ParentConversationID}, HuddleID: room.ID})
	}
}

// huddlePeers checks whom somebody calls aside: members of the room, or whom the
// caller may write to anyway. The caller and repetitions are left out.
func (c *Chat) huddlePeers(ctx context.Context, tx *pg.Tx, actor access.Actor, source *locked, asked []id.Participant) ([]id.Participant, error) {
	var peers, strangers []id.Participant
	for _, p := range asked {
		if p == actor.ID || p.IsZero() || slices.Contains(peers, p) {
			continue
		}
		peers = append(peers, p)
		if !slices.ContainsFunc(source.seats, func(s view.Seat) bool { return s.ID == p && s.Kind != view.SeatObserver }) {
			strangers = append(strangers, p)
		}
	}
	switch {
	case len(peers) == 0:
		return nil, errInvalidHuddle.With("peerIds", "required", "Name somebody else to talk to.")
	case len(peers) > maxHuddlePeers:
		return nil, errInvalidHuddle.With("peerIds", "too_many", fmt.Sprintf("A huddle has at most %d others.", maxHuddlePeers))
	case len(strangers) == 0:
		return peers, nil
	}
	org, err := ownWorkspace(ctx, tx, actor, source.OrganizationID)
	if err != nil {
		return nil, err
	}
	known, err := view.Reachable(ctx, tx, actor.ID, actor.OwnerID, org, strangers)
	if err != nil {
		return nil, err
	}
	for _, p := range strangers {
		if _, ok := known[p]; !ok {
			return nil, fault.New(fault.Invalid, "unknown_member", "Somebody you chose does not exist, or you may not write to them.").With("peerIds", "unknown", p.String())
		}
	}
	return peers, nil
}

// cleanLine trims a line of text and bounds it, in characters.
func cleanLine(field, s string, most int) (string, error) {
	t, err := cleanTitle(&s)
	if err != nil {
		return "", errInvalidHuddle.With(field, "format", fmt.Sprintf("a line of at most %d characters", most))
	}
	if t == nil {
		return "", nil
	}
	return *t, nil
}

// JoinHuddle gives a person who looks into an open huddle a seat in it.
func (c *Chat) JoinHuddle(ctx context.Context, actor access.Actor, conv id.Conversation) (out view.Member, err error) {
	if err := access.RequirePerson(actor); err != nil {
		return out, err
	}
	err = c.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if _, err := c.Readable(ctx, tx, actor, conv); err != nil {
			return err
		}
		room, err := c.lock(ctx, tx, access.System(), conv)
		if err != nil {
			return err
		}
		if m, ok, err := view.MemberOf(ctx, tx, conv, actor.ID); err != nil || ok {
			out = m
			return err
		}
		if !room.IsHuddle() { // who may read it without a seat looks into a huddle
			return fault.ErrNotFound
		}
		if room.Closed() {
			return access.ErrRoomClosed
		}
		above, err := chat.Role(ctx, tx, room.ParentConversationID, actor.ID)
		if err != nil {
			return err
		}
		if above != chat.Member && above != chat.Admin {
			return fault.New(fault.Forbidden, "observer", "You may read this huddle. To write in it, you must be a member of the room above.")
		}
		out, err = c.addTx(ctx, tx, room, actor.ID, chat.Member)
		return err
	})
	return out, err
}

// closeLooks are the huddles below a room that somebody who was removed from it may
// look into no longer.
func closeLooks(ctx context.Context, tx *pg.Tx, conv id.Conversation, m view.Member) ([]id.Conversation, error) {
	if m.IsAgent() {
		return nil, nil
	}
	below, err := chat.HuddlesBelow(ctx, tx, conv, m.ParticipantID)
	if err != nil {
		return nil, err
	}
	var out []id.Conversation
	for _, h := range below {
		role, err := chat.ReaderRole(ctx, tx, h, m.ParticipantID)
		if err != nil {
			return nil, err
		}
		if role == "" {
			out = append(out, h)
		}
	}
	return out, nil
}

// deleteHuddles takes the huddles of a deleted room away with it, at any depth.
func (c *Chat) deleteHuddles(ctx context.Context, tx *pg.Tx, conv id.Conversation) error {
	below, err := chat.HuddlesOf(ctx, tx, conv)
	if err != nil {
		return err
	}
	for _, h := range below {
		room, err := c.lock(ctx, tx, access.System(), h)
		if err != nil {
			return err
		}
		if err := c.deleteTx(ctx, tx, room); err != nil {
			return err
		}
	}
	return nil
}

// deleteTx removes a locked room for everybody. Running streams end.
func (c *Chat) deleteTx(ctx context.Context, tx *pg.Tx, room *locked) error {
	conv := room.ID
	seq, err := record(ctx, tx, conv, "conversation_deleted", uuid.Nil, map[string]any{"conversationId": conv})
	if err != nil {
		return err
	}
	if err := chat.DeleteTx(ctx, tx, conv); err != nil {
		return err
	}
	if c.Forget != nil {
		if err := c.Forget(ctx, tx, conv, id.Participant{}); err != nil {
			return err
		}
	}
	if err := memory.ForgetRoomTx(ctx, tx, conv); err != nil {
		return err
	}
	tx.Publish(lane(conv), ConversationDeleted{inRoom: inRoom{conv}, To: room.everybody(id.Participant{}), Seq: seq})
	tx.AfterCommit(func() { c.Streams.Cancel(conv.String(), "") })
	return c.deleteHuddles(ctx, tx, conv)
}
