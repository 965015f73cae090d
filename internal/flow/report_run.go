package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/turn"
)

// ReportUsage books what a model run used. Who uses up its day by it is stopped at once.
func (g *Gateway) ReportUsage(ctx context.Context, actor access.Actor, u turn.Usage) error {
	if err := access.RequireAgent(actor); err != nil {
		return err
	}
	u.AgentID = actor.ID
	return g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		g.used(tx, u.AgentID)
		return turn.SaveUsageTx(ctx, tx, u)
	})
}

// ReportFault stores what a bridge says went wrong.
func (g *Gateway) ReportFault(ctx context.Context, actor access.Actor, f turn.Fault) error {
	if err := access.RequireAgent(actor); err != nil {
		return err
	}
	f.AgentID = actor.ID
	return g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return turn.SaveFaultTx(ctx, tx, f) })
}

// ToolUses are the names of the tools that a CLI used, as it prints them.
type ToolUses struct {
	ConversationID id.Conversation
	Names          []string
}

// ReportToolUses counts the tools that a CLI used.
func (g *Gateway) ReportToolUses(ctx context.Context, actor access.Actor, u ToolUses) error {
	if err := access.RequireAgent(actor); err != nil {
		return err
	}
	if len(u.Names) > 10_000 {
		return fault.New(fault.Invalid, "invalid", "Too many tool uses in one report.").With("tool_uses", "too_many", "at most 10000")
	}
	return g.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		return turn.SaveToolUsesTx(ctx, tx, actor.ID, u.ConversationID, u.Names)
	})
}
