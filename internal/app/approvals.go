package app

import (
	"context"
	"time"

	"github.com/riverqueue/river"

	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/jobs"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/secret"
)

// buildApprovals makes what agents ask people, and puts it where it is used: the
// dispatcher tells runs what was decided, a stop in a room ends what is asked there.
func (a *App) buildApprovals(ring *secret.Ring, inserter *jobs.Inserter) {
	a.Approvals = flow.NewApprovals(a.db, ring, a.Chat, decisionJobs{inserter}, a.Gateway.Wake, a.log)
	a.Approvals.ServeOn(a.Gateway)
	a.Gateway.StopAsking = a.Approvals.StopTx
	a.Approvals.Tasks, a.Tasks.Approvals = a.Tasks, a.Approvals
}

// toolTitle is what a tool of ours, or of an agent's CLI, does, in English.
func (a *App) toolTitle(name string) string {
	if spec, ok := a.Tools.Registry().Lookup(name); ok && spec.DisplayName != "" {
		return spec.DisplayName
	}
	return approval.LocalTitle(name)
}

// decisionJobs is flow.DecisionJobs over River.
type decisionJobs struct{ inserter *jobs.Inserter }

func (j decisionJobs) ExpireAt(ctx context.Context, tx *pg.Tx, at time.Time) error {
	return j.inserter.InsertTx(ctx, tx, approval.ExpireArgs{}, &river.InsertOpts{ScheduledAt: at})
}

func (j decisionJobs) Answer(ctx context.Context, tx *pg.Tx, args approval.AnswerArgs) error {
	return j.inserter.InsertTx(ctx, tx, args, nil)
}
