package worker

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/agntchat/agntchat/internal/chat"
	"github.com/agntchat/agntchat/internal/flow"
)

// changeDays is how long a client may be away and still catch up by sequence number.
const changeDays = 30

// PruneChanges works chat.PruneChangesArgs.
type PruneChanges struct {
	river.WorkerDefaults[chat.PruneChangesArgs]
	Chat *flow.Chat
}

// Work implements river.Worker.
func (w *PruneChanges) Work(ctx context.Context, job *river.Job[chat.PruneChangesArgs]) error {
	return w.Chat.PruneChanges(ctx, job.Args.Days)
}

// PrunePeriodically is the schedule of PruneChanges: daily.
func PrunePeriodically() *river.PeriodicJob {
	return river.NewPeriodicJob(river.PeriodicInterval(24*time.Hour), func() (river.JobArgs, *river.InsertOpts) {
		return chat.PruneChangesArgs{Days: changeDays}, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByPeriod: 24 * time.Hour}}
	}, &river.PeriodicJobOpts{RunOnStart: true})
}
