package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
)

// UsageOf sums what the agent's model calls took in the last days, for its owner.
func (g *Gateway) UsageOf(ctx context.Context, actor access.Actor, agent id.Participant, days int) (view.Usage, error) {
	a, err := view.OneAgent(ctx, g.DB, agent)
	if err != nil {
		return view.Usage{}, err
	}
	if err := access.ManageAgent(actor, access.AgentFacts{ID: a.ID, OwnerID: a.OwnerID}); err != nil {
		return view.Usage{}, err
	}
	return view.UsageOf(ctx, g.DB, agent, days)
}
