package flow

import (
	"context"
	"log/slog"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
)

// BudgetStopped tells an agent's owner that it has no tokens left today, or what became
// of that.
type BudgetStopped struct {
	Owner id.Participant
	Stop  turn.Stop
	Name  string // of the agent
}

// Topic is the owner's.
func (e BudgetStopped) Topic() string { return event.UserTopic(e.Owner.String()) }

// overBudget reports that nothing may be begun for the agent today. The first time its
// owner is asked; rooms are told when something there begins to wait for it.
func (g *Gateway) overBudget(ctx context.Context, agent id.Participant) bool {
	if !g.budgets.has(agent) {
		return false
	}
	b, err := turn.BudgetOf(ctx, g.DB, agent)
	if err != nil {
		g.complain(ctx, "read budget failed", err, agent)
		return true // nothing is spent while nobody knows how much there is
	}
	if b == nil || !b.Over() {
		return false
	}
	if err := g.stopForToday(ctx, *b); err != nil {
		g.complain(ctx, "stop agent failed", err, agent)
	}
	return true
}

// spent reports that a run of the agent that goes on would overdraw its day further.
func (g *Gateway) spent(ctx context.Context, agent id.Participant) (bool, error) {
	if !g.budgets.has(agent) {
		return false, nil
	}
	b, err := turn.BudgetOf(ctx, g.DB, agent)
	return b != nil && b.Over(), err
}

// used looks for the end of the agent's day after it has used some of it.
func (g *Gateway) used(tx *pg.Tx, agent id.Participant) {
	if g.budgets.has(agent) {
		tx.AfterCommit(func() { g.Wake(agent) })
	}
}

func (g *Gateway) stopForToday(ctx context.Context, b turn.Budget) error {
	a, err := view.OneAgent(ctx, g.DB, b.AgentID)
	if err != nil {
		return err
	}
	if !b.Asked() {
		err := g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
			stop, err := turn.StopTx(ctx, tx, b)
			if err != nil || stop == nil {
				return err
			}
			tx.Publish(event.UserTopic(a.OwnerID.String()), BudgetStopped{a.OwnerID, *stop, a.DisplayName})
			tx.AfterCommit(func() {
				g.Log.InfoContext(ctx, "agent stopped by its budget", slog.String("agent_id", b.AgentID.String()), slog.Int64("used", b.Used), slog.Int64("tokens_per_day", b.TokensPerDay))
			})
			return nil
		})
		if err != nil {
			return err
		}
	}
	rooms, err := view.RoomsToTellOfStop(ctx, g.DB, b.AgentID, b.Day, b.Zone, id.Conversation{})
	if err != nil {
		return err
	}
	notice := &Notice{Code: NoticeBudget, Params: map[string]any{"agent": a.DisplayName, "agent_id": a.ID}}
	for _, room := range rooms {
		err := g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
			if _, err := chat.LockTx(ctx, tx, room); err != nil {
				return err
			}
			still, err := view.RoomsToTellOfStop(ctx, tx, b.AgentID, b.Day, b.Zone, room)
			if err != nil || len(still) == 0 { // told meanwhile
				return err
			}
			_, err = g.Rooms.PostTx(ctx, tx, access.System(), Post{ConversationID: room, Notice: notice})
			return err
		})
		if goneIsNil(err) != nil {
			return err
		}
	}
	return nil
}

// Budget is what the agent may use in a day; nil without a bound. For its owner.
func (g *Gateway) Budget(ctx context.Context, actor access.Actor, agent id.Participant) (*turn.Budget, error) {
	if _, err := g.managed(ctx, actor, agent); err != nil {
		return nil, err
	}
	return turn.BudgetOf(ctx, g.DB, agent)
}

// SetBudget bounds what the agent uses in a day of its owner. More than it has used
// lets it go on at once.
func (g *Gateway) SetBudget(ctx context.Context, actor access.Actor, agent id.Participant, tokens int64) (*turn.Budget, error) {
	if _, err := g.managed(ctx, actor, agent); err != nil {
		return nil, err
	}
	err := g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return g.setBudgetTx(ctx, tx, actor, agent, tokens) })
	if err != nil {
		return nil, err
	}
	return turn.BudgetOf(ctx, g.DB, agent)
}

func (g *Gateway) setBudgetTx(ctx context.Context, tx *pg.Tx, actor access.Actor, agent id.Participant, tokens int64) error {
	owner, err := view.OwnerOf(ctx, tx, agent)
	if err != nil {
		return err
	}
	zone := "UTC"
	if owner.Timezone != nil && *owner.Timezone != "Local" {
		if _, err := time.LoadLocation(*owner.Timezone); err == nil && *owner.Timezone != "" {
			zone = *owner.Timezone
		}
	}
	g.budgets.add(agent) // before the commit, so that no claim misses it
	tx.AfterCommit(func() { g.Wake(agent) })
	if err := turn.SetBudgetTx(ctx, tx, agent, tokens, zone, actor.ID); err != nil {
		return err
	}
	return g.settleStopTx(ctx, tx, actor, agent, &tokens)
}

// settleStopTx takes the question about a stop from its owner that another limit, or
// none, has answered.
func (g *Gateway) settleStopTx(ctx context.Context, tx *pg.Tx, actor access.Actor, agent id.Participant, limit *int64) error {
	s, err := turn.SettleStopTx(ctx, tx, agent, limit, actor.ID)
	if err != nil || s == nil {
		return err
	}
	a, err := view.OneAgent(ctx, tx, agent)
	if err == nil {
		tx.Publish(event.UserTopic(a.OwnerID.String()), BudgetStopped{a.OwnerID, *s, a.DisplayName})
	}
	return err
}

// DropBudget takes the bound away.
func (g *Gateway) DropBudget(ctx context.Context, actor access.Actor, agent id.Participant) error {
	if _, err := g.managed(ctx, actor, agent); err != nil {
		return err
	}
	return g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		tx.AfterCommit(func() { g.Wake(agent) })
		if err := turn.DropBudgetTx(ctx, tx, agent); err != nil {
			return err
		}
		return g.settleStopTx(ctx, tx, actor, agent, nil)
	})
}

// BudgetAnswer is what an owner says to a stop.
type BudgetAnswer struct {
	Decision     string // continue: for today | raise: to TokensPerDay, from now on | keep: until tomorrow
	TokensPerDay int64
}

// ResolveStop decides about the stop of an agent of the caller, once.
func (g *Gateway) ResolveStop(ctx context.Context, actor access.Actor, sid id.BudgetStop, in BudgetAnswer) (out turn.Stop, err error) {
	if err := access.RequirePerson(actor); err != nil {
		return out, err
	}
	status, ok := map[string]string{"continue": turn.Continued, "raise": turn.Raised, "keep": turn.Kept}[in.Decision]
	if !ok {
		return out, fault.New(fault.Invalid, "invalid", "This is no decision.").With("decision", "unknown", "continue, raise or keep")
	}
	err = g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		s, err := turn.LockStopTx(ctx, tx, sid)
		if err != nil {
			return err
		}
		a, err := view.OneAgent(ctx, tx, s.AgentID)
		if err != nil {
			return err
		}
		if err := access.ManageAgent(actor, access.AgentFacts{ID: a.ID, OwnerID: a.OwnerID, OrganizationIDs: a.OrganizationIDs}); err != nil {
			return err
		}
		var to *int64
		if status == turn.Raised {
			to = &in.TokensPerDay
			if in.TokensPerDay <= s.Used {
				return fault.New(fault.Invalid, "invalid", "This is no more than was used today.").With("tokensPerDay", "range", "more than was used today")
			}
		}
		if out, err = turn.DecideStopTx(ctx, tx, s, status, to, actor.ID); err != nil {
			return err
		}
		if status == turn.Raised {
			if err := g.setBudgetTx(ctx, tx, actor, s.AgentID, in.TokensPerDay); err != nil {
				return err
			}
		}
		tx.Publish(event.UserTopic(a.OwnerID.String()), BudgetStopped{a.OwnerID, out, a.DisplayName})
		tx.AfterCommit(func() { g.Wake(s.AgentID) })
		return nil
	})
	return out, err
}
