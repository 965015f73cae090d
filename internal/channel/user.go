package channel

import (
	"context"
	"encoding/json"
	"log/slog"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/realtime/socket"
	"github.com/agntchat/agntchat/internal/wire"
)

// userChannel is the private topic of a person or an agent: only its own.
type userChannel struct {
	router *Router
	owner  id.Participant
	actor  access.Actor
	key    string
	bridge socket.Channel // of a join with an executor_id: everything goes there
}

// Join implements socket.Channel.
func (u *userChannel) Join(ctx context.Context, m *socket.Member, params json.RawMessage) (any, error) {
	u.actor = actorOf(m)
	if u.actor.Kind == access.None || u.actor.ID != u.owner {
		return nil, errUnauthorized
	}
	var p wire.UserJoin
	if len(params) > 0 && json.Unmarshal(params, &p) != nil {
		return nil, socket.Reason("bad_request")
	}
	if p.ExecutorID != "" {
		if !u.actor.IsAgent() || u.router.Executor == nil {
			return nil, errUnauthorized
		}
		u.bridge = u.router.Executor(u.actor)
		return u.bridge.Join(ctx, m, params)
	}
	u.key = m.Conn().ID()
	if u.actor.IsPerson() { // an agent is online when an executor of it is
		u.router.People.Connect(u.owner.String(), u.key)
	}
	return nil, nil
}

// Joined pushes who is online: the only thing that clears stale ids in a client
// (desktop 3.5).
func (u *userChannel) Joined(ctx context.Context, m *socket.Member) {
	if u.bridge != nil {
		if j, ok := u.bridge.(socket.Joined); ok {
			j.Joined(ctx, m)
		}
		return
	}
	snap, err := u.router.snapshot(ctx, u.actor)
	if err != nil {
		u.router.Log.WarnContext(ctx, "presence snapshot failed", slog.Any("error", err))
		m.Fail() // the client joins again and gets one then
		return
	}
	_ = m.Push("presence_snapshot", snap) // gone: nobody to tell
}

// Push implements socket.Channel. People push nothing here (desktop 3.3); a stock
// SDK client may ask for a catch-up, of which it has none without an executor.
func (u *userChannel) Push(ctx context.Context, m *socket.Member, event string, payload json.RawMessage) (any, error) {
	if u.bridge != nil {
		return u.bridge.Push(ctx, m, event, payload)
	}
	if event == "catchup" && u.actor.IsAgent() {
		return wire.CatchupReply{}, nil
	}
	return nil, socket.ErrUnknownEvent
}

// Leave implements socket.Channel.
func (u *userChannel) Leave(ctx context.Context, m *socket.Member, reason socket.LeaveReason) {
	if u.bridge != nil {
		u.bridge.Leave(ctx, m, reason)
		return
	}
	if !u.actor.IsPerson() {
		return
	}
	switch reason {
	case socket.LeftReplaced: // the same connection is there again under the same key
	case socket.LeftByClient, socket.LeftRemoved:
		u.router.People.Leave(u.owner.String(), u.key)
	default:
		u.router.People.Disconnect(u.owner.String(), u.key)
	}
}
