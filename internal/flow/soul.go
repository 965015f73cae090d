package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/agent"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
)

// replaceSoulTx keeps the soul that a new one takes the place of (row K9). An agent may
// not lose most of itself at once; its owner may do anything.
func replaceSoulTx(ctx context.Context, tx *pg.Tx, actor access.Actor, aid id.Participant, next string) error {
	now, err := agent.LockSoulTx(ctx, tx, aid)
	if err != nil || now == next {
		return err
	}
	if actor.IsAgent() {
		if err := agent.CheckShrinkTx(ctx, tx, aid, now, next); err != nil {
			return err
		}
	}
	return agent.KeepSoulTx(ctx, tx, aid, now, actor.ID)
}

// SoulHistory is what an agent was before, newest first, and what it is; for its owner.
func (i *Identity) SoulHistory(ctx context.Context, actor access.Actor, aid id.Participant) (now string, list []view.SoulVersion, err error) {
	a, err := view.OneAgent(ctx, i.DB, aid)
	if err != nil {
		return "", nil, err
	}
	if err := access.ManageAgent(actor, access.AgentFacts{ID: a.ID, OwnerID: a.OwnerID}); err != nil {
		return "", nil, err
	}
	list, err = view.Souls(ctx, i.DB, aid)
	return a.SoulMD, list, err
}

// RevertSoul puts an earlier soul in force again, that of a version or with 0 the one
// before; the present one is kept, so that doing it twice changes nothing. For the
// owner. no_history: there is no earlier one.
func (i *Identity) RevertSoul(ctx context.Context, actor access.Actor, aid id.Participant, version int64) (out view.Agent, err error) {
	err = i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		a, err := view.OneAgent(ctx, tx, aid)
		if err != nil {
			return err
		}
		if err := access.ManageAgent(actor, access.AgentFacts{ID: a.ID, OwnerID: a.OwnerID}); err != nil {
			return err
		}
		now, err := agent.LockSoulTx(ctx, tx, aid)
		if err != nil {
			return err
		}
		earlier, err := agent.EarlierSoul(ctx, tx, aid, version)
		if fault.KindOf(err) == fault.NotFound && err != nil && version == 0 {
			return fault.New(fault.Conflict, "no_history", "This agent has had no other soul.")
		}
		if err != nil {
			return err
		}
		if earlier != now {
			if err := agent.KeepSoulTx(ctx, tx, aid, now, actor.ID); err != nil {
				return err
			}
			if err := agent.PatchTx(ctx, tx, aid, agent.Patch{SoulMD: &earlier}); err != nil {
				return err
			}
		}
		if out, err = view.OneAgent(ctx, tx, aid); err != nil {
			return err
		}
		tx.Publish(event.UserTopic(a.OwnerID.String()), AgentChanged{AgentUpdated, out})
		return nil
	})
	return out, err
}

// Family are the other active agents of the calling agent's owner.
func (i *Identity) Family(ctx context.Context, actor access.Actor) ([]view.Kin, error) {
	if err := access.RequireAgent(actor); err != nil {
		return nil, err
	}
	return view.FamilyOf(ctx, i.DB, actor.ID)
}
