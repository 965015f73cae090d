package worker

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/flow"
)

// ExpireApprovals works approval.ExpireArgs: requests whose time is over end.
type ExpireApprovals struct {
	river.WorkerDefaults[approval.ExpireArgs]
	Approvals *flow.Approvals
}

// Work implements river.Worker.
func (w *ExpireApprovals) Work(ctx context.Context, _ *river.Job[approval.ExpireArgs]) error {
	return w.Approvals.ExpireDue(ctx)
}

// SayDecision works approval.AnswerArgs: a decision is said where an agent waits
// for it. Doing it twice says it once.
type SayDecision struct {
	river.WorkerDefaults[approval.AnswerArgs]
	Approvals *flow.Approvals
}

// Work implements river.Worker.
func (w *SayDecision) Work(ctx context.Context, job *river.Job[approval.AnswerArgs]) error {
	return w.Approvals.Say(ctx, job.Args)
}

// ExpirePeriodically is the net under the job that stands at the end of each
// request's life: every ten minutes.
func ExpirePeriodically() *river.PeriodicJob {
	const every = 10 * time.Minute
	return river.NewPeriodicJob(river.PeriodicInterval(every), func() (river.JobArgs, *river.InsertOpts) {
		return approval.ExpireArgs{}, &river.InsertOpts{UniqueOpts: river.UniqueOpts{ByPeriod: every}}
	}, &river.PeriodicJobOpts{RunOnStart: true})
}
