package worker

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/turn"
)

// RetireAgent works turn.RetireArgs: what a deleted or switched-off agent still
// had to answer is closed, visibly.
type RetireAgent struct {
	river.WorkerDefaults[turn.RetireArgs]
	Gateway *flow.Gateway
}

// Work implements river.Worker.
func (w *RetireAgent) Work(ctx context.Context, job *river.Job[turn.RetireArgs]) error {
	return w.Gateway.Retire(ctx, job.Args.AgentID)
}
