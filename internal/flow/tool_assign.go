package flow

import (
	"context"
	"time"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/view"
)

// AgentTool is a tool as an agent's owner sees it.
type AgentTool struct {
	tool.Spec
	On     bool        // the agent is offered it
	May    bool        // the agent may use it, though it may have no use for it now
	Choice tool.Choice // what was chosen for this agent; zero when nothing was
}

// All lists every tool that this server has. It is for people.
func (t *Tools) All(actor access.Actor) ([]tool.Spec, error) {
	if err := access.RequirePerson(actor); err != nil {
		return nil, err
	}
	return t.registry.All(), nil
}

// OfAgent lists every tool with whether the agent has it, for its owner.
func (t *Tools) OfAgent(ctx context.Context, actor access.Actor, agent id.Participant) ([]AgentTool, error) {
	if err := t.manage(ctx, actor, agent); err != nil {
		return nil, err
	}
	f, err := t.facts(ctx, agent)
	if err != nil {
		return nil, err
	}
	chosen, err := tool.ChoicesOf(ctx, t.DB, agent)
	if err != nil {
		return nil, err
	}
	all := t.registry.All()
	out := make([]AgentTool, len(all))
	for n, s := range all {
		out[n] = AgentTool{Spec: s, On: s.Seen(f), May: s.Allowed(f), Choice: chosen[s.Name]}
	}
	return out, nil
}

// Choose assigns a tool to an agent or takes it away; only its owner may.
func (t *Tools) Choose(ctx context.Context, actor access.Actor, agent id.Participant, name string, on bool) error {
	if err := t.manage(ctx, actor, agent); err != nil {
		return err
	}
	s, ok := t.registry.Lookup(name)
	if !ok {
		return fault.ErrNotFound
	}
	if s.Essential && !on {
		return fault.New(fault.Invalid, "essential", "An agent cannot work without this tool.")
	}
	return t.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return tool.ChooseTx(ctx, tx, agent, s.Name, on, actor.ID) })
}

// Calls is a page of the agent's calls, newest first, for its owner.
func (t *Tools) Calls(ctx context.Context, actor access.Actor, agent id.Participant, before *time.Time, limit int) ([]view.ToolCallRow, error) {
	if err := t.manage(ctx, actor, agent); err != nil {
		return nil, err
	}
	return view.ToolCalls(ctx, t.DB, agent, before, limit)
}

func (t *Tools) manage(ctx context.Context, actor access.Actor, agent id.Participant) error {
	a, err := view.OneAgent(ctx, t.DB, agent)
	if err != nil {
		return err
	}
	return access.ManageAgent(actor, access.AgentFacts{ID: a.ID, OwnerID: a.OwnerID})
}
