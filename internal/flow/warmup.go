package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/directive"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
)

// WarmRoom is what an agent is told in one of its rooms before it is asked anything.
type WarmRoom struct {
	ConversationID id.Conversation
	Directives     directive.Directives
}

// mostWarm bounds a warm-up; bridges ask for three.
const mostWarm = 10

// Warm is what the calling agent is told in its newest rooms, for a bridge that fills its
// model's cache before the first turn (bridge contract 3.2).
func (g *Gateway) Warm(ctx context.Context, actor access.Actor, limit int) ([]WarmRoom, error) {
	if err := access.RequireAgent(actor); err != nil {
		return nil, err
	}
	rooms, err := view.PersonalRooms(ctx, g.DB, actor.ID, id.Organization{}, nil, max(1, min(limit, mostWarm)))
	if err != nil {
		return nil, err
	}
	out := []WarmRoom{}
	for _, r := range rooms {
		ground, err := view.TurnGroundOf(ctx, g.DB, r.ID, actor.ID, nil, id.Participant{})
		if err != nil {
			return nil, err
		}
		if ground.Room == nil || ground.Agent == nil {
			continue
		}
		d := directive.Compute(g.directiveFacts(ground, *ground.Room))
		d.Volatile = d.Volatile[:len(d.Volatile)-1] // nobody has asked anything yet
		out = append(out, WarmRoom{ConversationID: r.ID, Directives: d})
	}
	return out, nil
}
