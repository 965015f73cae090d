package worker

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/turn"
)

// RetireAgent works turn.RetireArgs: what a deleted or switched-off agent still
// had to answer is closed, visibly, and what it asked people ends.
type RetireAgent struct {
	river.WorkerDefaults[turn.RetireArgs]
	Gateway   *flow.Gateway
	Approvals *flow.Approvals
}

// Work implements river.Worker.
func (w *RetireAgent) Work(ctx context.Context, job *river.Job[turn.RetireArgs]) error {
	if err := w.Approvals.Retire(ctx, job.Args.AgentID); err != nil {
		return err
	}
	return w.Gateway.Retire(ctx, job.Args.AgentID)
}
