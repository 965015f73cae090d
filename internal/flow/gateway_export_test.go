package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/id"
)

// ClaimNow runs the claim of an agent here and now, and SweepNow both sweeps, so
// that tests can say that nothing (more) is due.
func (g *Gateway) ClaimNow(ctx context.Context, agent id.Participant) { g.claimFor(ctx, agent) }

// SweepNow runs both sweeps.
func (g *Gateway) SweepNow(ctx context.Context) error {
	if err := g.sweepClaims(ctx); err != nil {
		return err
	}
	return g.sweepExecutors(ctx)
}

// Claiming reports that a dispatcher runs for the agent.
func (g *Gateway) Claiming(agent id.Participant) bool {
	g.disp.mu.Lock()
	defer g.disp.mu.Unlock()
	_, ok := g.disp.agents[agent]
	return ok
}

// TellNow tells people what changed about an agent here and now.
func (g *Gateway) TellNow(ctx context.Context, agent id.Participant) { g.tellAgent(ctx, agent) }
