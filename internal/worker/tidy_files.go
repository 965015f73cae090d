package worker

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/agntchat/agntchat/internal/file"
	"github.com/agntchat/agntchat/internal/flow"
)

// TidyFiles works file.TidyArgs.
type TidyFiles struct {
	river.WorkerDefaults[file.TidyArgs]
	Files *flow.Files
}

// Work implements river.Worker.
func (w *TidyFiles) Work(ctx context.Context, _ *river.Job[file.TidyArgs]) error {
	return w.Files.Tidy(ctx)
}

// AddFiles adds the worker of files to the bundle.
func AddFiles(workers *river.Workers, files *flow.Files) {
	river.AddWorker(workers, &TidyFiles{Files: files})
}

// TidyFilesPeriodically is the schedule of TidyFiles: hourly.
func TidyFilesPeriodically() *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(time.Hour), func() (river.JobArgs, *river.InsertOpts) {
		return file.TidyArgs{}, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByPeriod: time.Hour}}
	}, &river.PeriodicJobOpts{RunOnStart: true})
}
