package worker

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/agntchat/agntchat/internal/external"
	"github.com/agntchat/agntchat/internal/flow"
)

// SweepSessions works external.SweepArgs: sessions that fell silent are lost.
type SweepSessions struct {
	river.WorkerDefaults[external.SweepArgs]
	External *flow.External
}

// Work implements river.Worker.
func (w *SweepSessions) Work(ctx context.Context, _ *river.Job[external.SweepArgs]) error {
	return w.External.Sweep(ctx)
}

// AddExternal adds the workers of external sessions to the bundle.
func AddExternal(workers *river.Workers, x *flow.External) {
	river.AddWorker(workers, &SweepSessions{External: x})
}

// SweepSessionsPeriodically is the schedule of SweepSessions: every 30 seconds.
func SweepSessionsPeriodically() *river.PeriodicJob {
	const every = 30 * time.Second
	return river.NewPeriodicJob(river.PeriodicInterval(every), func() (river.JobArgs, *river.InsertOpts) {
		return external.SweepArgs{}, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByPeriod: every}}
	}, &river.PeriodicJobOpts{RunOnStart: true})
}
