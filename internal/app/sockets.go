package app

import (
	"context"
	"fmt"
	"net/http"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/channel"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/realtime/socket"
)

// authenticateSocket checks the token of an upgrade. An outage of the database is
// told apart from a bad token.
func (a *App) authenticateSocket(ctx context.Context, r *http.Request) (socket.Session, error) {
	actor, err := a.Identity.Authenticate(ctx, r.URL.Query().Get("token"))
	if err != nil {
		if fault.KindOf(err) != fault.Unauthenticated {
			return socket.Session{}, fmt.Errorf("%w: %w", socket.ErrUnavailable, err)
		}
		return socket.Session{}, err
	}
	if actor.RawKey {
		return socket.Session{}, fault.ErrUnauthenticated // the raw key is good for a few routes only (bridge 1.3)
	}
	return socket.Session{Participant: actor.ID.String(), Value: actor}, nil
}

// disconnecter closes sockets whose right has ended: flow.Disconnecter.
type disconnecter struct{ app *App }

func (d disconnecter) DisconnectParticipant(p id.Participant, reason string) {
	d.app.sockets.CloseSession(func(c *socket.Conn) bool { return c.Session().Participant == p.String() }, socket.CodePolicy, reason)
}

func (d disconnecter) DisconnectSession(s id.Session, reason string) {
	d.app.sockets.CloseSession(func(c *socket.Conn) bool {
		actor, ok := c.Session().Value.(access.Actor)
		return ok && actor.SessionID == s
	}, socket.CodePolicy, reason)
}

// channels routes topics.
func (a *App) channels(rooms *channel.Rooms) *channel.Router {
	return &channel.Router{
		DB: a.db, Chat: a.Chat, Bus: a.bus, Streams: a.streams, Rooms: rooms, People: a.people, Agents: a.agentState,
		Executor: channel.Bridges{Gateway: a.Gateway, Log: a.log}.New, Log: a.log,
	}
}

func (a *App) agentState(p id.Participant) channel.AgentState {
	g := a.Gateway.Presence(p)
	out := channel.AgentState{Online: g.Online, Rooms: g.Rooms}
	if g.DeviceName != nil {
		out.DeviceName = *g.DeviceName
	}
	if len(g.Rooms) > 0 {
		out.Activity = "working"
	}
	return out
}

// encoder takes the events of committed transactions to the bus.
func (a *App) encoder(rooms *channel.Rooms) pg.Deliverer {
	return &channel.Encoder{Bus: a.bus, Log: a.log, Families: []channel.Encode{
		channel.ChatEvents(rooms, a.online), channel.GatewayEvents(), channel.ApprovalEvents(), channel.TaskEvents(), channel.MemoryEvents(), channel.EncodeIdentity(a.Gateway.Online),
	}}
}
