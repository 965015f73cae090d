package channel

import (
	"context"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/socket"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// In rooms up to this size typing is also shown in the lists of the members.
const typingInLists = 50

// audienceLife is how long the members of a room are remembered for typing; a
// change of its members, told by the room's lane, ends it before.
const audienceLife = 10 * time.Second

// audience is who sees typing in their list, and who may type.
type audience struct {
	at      time.Time
	writers map[id.Participant]bool
	topics  map[id.Participant]string
}

// typing tells the others in the room, and those who have it in their list, that
// somebody writes. Nothing is stored; observers do not write.
func (r *Router) typing(ctx context.Context, actor access.Actor, room id.Conversation) error {
	a, err := r.audience(ctx, room)
	if err != nil {
		return err
	}
	if !a.writers[actor.ID] {
		return socket.ErrNoReply
	}
	kind := chat.Human
	if actor.IsAgent() {
		kind = chat.Agent
	}
	m := realtime.Message{
		Topic: event.ConversationTopic(room.String()), Event: "typing_indicator", ExceptParticipant: actor.ID.String(), Droppable: true,
		Key: "typing:" + room.String() + actor.ID.String(),
		Payload: wire.TypingIndicator{
			ConversationID: room.String(), ParticipantID: actor.ID.String(), ParticipantName: actor.DisplayName, ParticipantType: kind, IsTyping: true,
		},
	}
	if err := r.Bus.Broadcast(m); err != nil {
		return err
	}
	topics := make([]string, 0, len(a.topics))
	for p, t := range a.topics {
		if p != actor.ID {
			topics = append(topics, t)
		}
	}
	if len(topics) > 0 {
		if err := r.Bus.BroadcastAll(topics, m); err != nil {
			return err
		}
	}
	return socket.ErrNoReply
}

func (r *Router) audience(ctx context.Context, room id.Conversation) (*audience, error) {
	a, asOf := r.Rooms.audienceOf(room)
	if a != nil {
		return a, nil
	}
	ms, err := view.MembersOf(ctx, r.DB, room)
	if err != nil {
		return nil, err
	}
	a = &audience{at: time.Now(), writers: make(map[id.Participant]bool, len(ms)), topics: make(map[id.Participant]string)}
	for _, m := range ms {
		a.writers[m.ParticipantID] = m.Role != chat.Observer
		if len(ms) <= typingInLists && !m.IsAgent() {
			a.topics[m.ParticipantID] = event.UserTopic(m.ParticipantID.String())
		}
	}
	r.Rooms.keepAudience(room, a, asOf)
	return a, nil
}

// audienceOf is the audience that is remembered for a room, or nil and what to
// give keepAudience with a new one.
func (r *Rooms) audienceOf(room id.Conversation) (a *audience, asOf uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if a := r.audiences[room]; a != nil && time.Since(a.at) < audienceLife {
		return a, r.changes
	}
	return nil, r.changes
}

// keepAudience remembers an audience, unless members changed while it was read.
func (r *Rooms) keepAudience(room id.Conversation, a *audience, asOf uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.changes != asOf {
		return
	}
	r.audiences[room] = a
	time.AfterFunc(2*audienceLife, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.audiences[room] == a {
			delete(r.audiences, room)
		}
	})
}

// membersChanged forgets who hears of typing in rooms: who is new may type at
// once, and who is out hears nothing more.
func (r *Rooms) membersChanged(rooms ...id.Conversation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changes++
	for _, c := range rooms {
		delete(r.audiences, c)
	}
}
