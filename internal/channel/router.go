package channel

import (
	"log/slog"
	"strings"
	"sync"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/presence"
	"github.com/agntchat/agntchat/internal/realtime/socket"
	"github.com/agntchat/agntchat/internal/realtime/stream"
)

// AgentState is what others see of an agent.
type AgentState struct {
	Online     bool
	DeviceName string
	Activity   string // "" is idle
	Rooms      []id.Conversation
}

// Bus sends events to topics; *realtime.Bus.
type Bus interface {
	Broadcast(m realtime.Message) error
	BroadcastAll(topics []string, m realtime.Message) error
}

// Router makes the channel for a topic. All fields are required but those that
// say otherwise.
type Router struct {
	DB      pg.Querier
	Chat    *flow.Chat
	Bus     Bus
	Streams *stream.Streams
	Rooms   *Rooms
	People  *presence.Tracker
	// Agents tells about agents that work through an executor. Nil: none is online.
	Agents func(id.Participant) AgentState
	// Executor makes the channel of a bridge: an agent's own topic joined with an
	// executor_id. Nil refuses such joins.
	Executor func(actor access.Actor) socket.Channel
	Log      *slog.Logger
}

// Route implements socket.Router: cheap, and without a look at the database.
func (r *Router) Route(topic string) (socket.Channel, bool) {
	family, name, ok := strings.Cut(topic, ":")
	if !ok {
		return nil, false
	}
	switch family {
	case "user":
		p, err := id.Parse[id.Participant](name)
		return &userChannel{router: r, owner: p}, err == nil
	case "conversation":
		c, err := id.Parse[id.Conversation](name)
		return &roomChannel{router: r, room: c}, err == nil
	default:
		return nil, false
	}
}

// actorOf is who is at the other end of the connection.
func actorOf(m *socket.Member) access.Actor {
	a, _ := m.Conn().Session().Value.(access.Actor)
	return a
}

// Rooms is the registry of who has joined which room, so that somebody who loses
// a seat loses the topic at once, and of who hears of typing there. Safe for
// concurrent use.
type Rooms struct {
	mu        sync.Mutex
	set       map[id.Conversation]map[*socket.Member]id.Participant
	audiences map[id.Conversation]*audience
	changes   uint64 // of members, in any room
}

// NewRooms makes an empty registry.
func NewRooms() *Rooms {
	return &Rooms{set: make(map[id.Conversation]map[*socket.Member]id.Participant), audiences: make(map[id.Conversation]*audience)}
}

func (r *Rooms) add(c id.Conversation, m *socket.Member, p id.Participant) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.set[c] == nil {
		r.set[c] = make(map[*socket.Member]id.Participant)
	}
	r.set[c][m] = p
}

func (r *Rooms) remove(c id.Conversation, m *socket.Member) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.set[c], m)
	if len(r.set[c]) == 0 {
		delete(r.set, c)
	}
}

// close ends the topic for one participant, or for all when p is zero, telling
// them why first.
func (r *Rooms) close(c id.Conversation, p id.Participant, event string, payload any) {
	r.mu.Lock()
	var out []*socket.Member
	for m, who := range r.set[c] {
		if p.IsZero() || who == p {
			out = append(out, m)
		}
	}
	r.mu.Unlock()
	for _, m := range out {
		_ = m.Push(event, payload) // gone already: nothing to tell
		m.Close()
	}
}
