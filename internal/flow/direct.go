package flow

import (
	"context"
	"slices"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
)

// TalkApart finds or makes a conversation apart, and posts a first text there when
// there is one: a huddle below the source or, without a source, the direct room with
// the one peer (bridge contract 3.3). It is the one way there for tools and for REST.
// What an agent does for somebody, both must be allowed to do: peers who do not sit in
// the source must be reachable by the person too, NotFound otherwise.
func (c *Chat) TalkApart(ctx context.Context, who ToolCaller, n NewHuddle) (view.Conversation, error) {
	if n.Source.IsZero() && len(n.Peers) != 1 {
		return view.Conversation{}, fault.New(fault.Invalid, "one_peer", "A direct conversation has one peer. For several, name the conversation that the huddle lies below.").
			With("peerIds", "one", "exactly one without a source conversation")
	}
	if err := who.mayTalkApart(ctx, c.DB, n.Source, n.Peers); err != nil {
		return view.Conversation{}, err
	}
	if n.Source.IsZero() {
		return c.direct(ctx, who.Agent, n)
	}
	return c.OpenHuddle(ctx, who.Agent, n)
}

// CreateConversationFor is CreateConversation for whoever acts, and the person for whom
// an agent does: the members must be reachable by both.
func (c *Chat) CreateConversationFor(ctx context.Context, who ToolCaller, n NewConversation) (out view.Conversation, created bool, err error) {
	if err := who.mayTalkApart(ctx, c.DB, id.Conversation{}, n.MemberIDs); err != nil {
		return out, false, err
	}
	return c.CreateConversation(ctx, who.Agent, n)
}

// mayTalkApart asks for the person behind an agent what OpenHuddle and
// CreateConversation ask for the agent. Who acts for themselves is asked there.
func (c ToolCaller) mayTalkApart(ctx context.Context, q pg.Querier, source id.Conversation, peers []id.Participant) error {
	if !c.Agent.IsAgent() {
		return nil
	}
	var seats []view.Seat
	if !source.IsZero() {
		if err := c.both(ctx, q, source, access.PostInRoom); err != nil {
			return err
		}
		var err error
		if seats, err = view.SeatsOf(ctx, q, source); err != nil {
			return err
		}
	}
	for _, peer := range peers { // members of the room are there for whoever asks in it
		if peer == c.Agent.ID || slices.ContainsFunc(seats, func(s view.Seat) bool { return s.ID == peer }) {
			continue
		}
		if err := mayReach(ctx, q, c.Person, peer); err != nil {
			return err
		}
	}
	return nil
}

func (c *Chat) direct(ctx context.Context, actor access.Actor, n NewHuddle) (view.Conversation, error) {
	room, _, err := c.CreateConversation(ctx, actor, NewConversation{Type: chat.Direct, MemberIDs: n.Peers})
	if err != nil || n.Message == "" {
		return room, err
	}
	if _, err := c.Post(ctx, actor, Post{ConversationID: room.ID, Content: n.Message, ClientKey: n.ClientKey}); err != nil {
		return room, err
	}
	return view.OneConversation(ctx, c.DB, room.ID, actor.ID)
}
