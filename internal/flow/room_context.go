package flow

import (
	"context"
	"slices"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/directive"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/view"
)

// The tiers of a context (bridge contract 3.4).
const (
	TierMemory  = 0
	TierRecent  = 1 // and the last ten messages
	TierHistory = 2 // and pages of the whole history
)

const recentOfContext = 10

// RoomContext is what is known about a room, in the depth of a tier.
type RoomContext struct {
	Memory   memory.Room
	Messages []view.Message // oldest first
	More     bool           // there are older ones
}

// Context reads a room for somebody who is to go on with it. before and limit page
// through tier 2. Members only.
func (m *Memories) Context(ctx context.Context, actor access.Actor, conv id.Conversation, tier int, before *time.Time, limit int) (out RoomContext, err error) {
	if tier < TierMemory || tier > TierHistory {
		return out, fault.New(fault.Invalid, "invalid", "There are the tiers 0, 1 and 2.").With("tier", "range", "must be 0, 1 or 2")
	}
	if out.Memory, err = m.OfRoom(ctx, actor, conv); err != nil || tier == TierMemory {
		return out, err
	}
	if tier == TierRecent {
		before, limit = nil, recentOfContext
	}
	if out.Messages, err = view.Timeline(ctx, m.DB, conv, before, limit+1); err != nil {
		return out, err
	}
	if len(out.Messages) > limit {
		out.Messages, out.More = out.Messages[:limit], true
	}
	slices.Reverse(out.Messages)
	return out, nil
}

// Brief is what to know before one speaks in a room.
type Brief struct {
	Room   view.Conversation
	Memory memory.Room
	Latest []view.Message // oldest first
	Tasks  []view.BriefTask
}

const latestOfBrief = 5

// Brief sums a room up from what is stored. Members only.
func (m *Memories) Brief(ctx context.Context, actor access.Actor, conv id.Conversation) (out Brief, err error) {
	if out.Memory, err = m.OfRoom(ctx, actor, conv); err != nil {
		return out, err
	}
	if out.Room, err = view.OneConversation(ctx, m.DB, conv, actor.ID); err != nil {
		return out, err
	}
	if out.Latest, err = view.Timeline(ctx, m.DB, conv, nil, latestOfBrief); err != nil {
		return out, err
	}
	slices.Reverse(out.Latest)
	out.Tasks, err = view.OpenTasks(ctx, m.DB, conv)
	return out, err
}

// Prompt is what the agent is told of its own memories in a turn of its owner.
func (m *Memories) Prompt(ctx context.Context, agent id.Participant) (string, error) {
	notes, err := view.AllNotes(ctx, m.DB, agent)
	if err != nil {
		return "", err
	}
	return directive.Remembered(remembered(notes)), nil
}
