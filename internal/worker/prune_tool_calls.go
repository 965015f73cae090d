package worker

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/tool"
)

// callDays is how long it stays known which tools an agent called.
const callDays = 90

// PruneToolCalls works tool.PruneCallsArgs.
type PruneToolCalls struct {
	river.WorkerDefaults[tool.PruneCallsArgs]
	Tools *flow.Tools
}

// Work implements river.Worker.
func (w *PruneToolCalls) Work(ctx context.Context, job *river.Job[tool.PruneCallsArgs]) error {
	return w.Tools.PruneCalls(ctx, job.Args.Days)
}

// AddTools adds the workers of tools to the bundle.
func AddTools(workers *river.Workers, tools *flow.Tools) {
	river.AddWorker(workers, &PruneToolCalls{Tools: tools})
}

// PruneCallsPeriodically is the schedule of PruneToolCalls: daily.
func PruneCallsPeriodically() *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(24*time.Hour), func() (river.JobArgs, *river.InsertOpts) {
		return tool.PruneCallsArgs{Days: callDays}, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByPeriod: 24 * time.Hour}}
	}, &river.PeriodicJobOpts{RunOnStart: true})
}
