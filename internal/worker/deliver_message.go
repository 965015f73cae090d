// Package worker holds the River workers, one per job kind. A worker decodes its
// arguments and calls one use case; it owns no rule and no table.
package worker

import (
	"context"

	"github.com/riverqueue/river"

	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/turn"
)

// DeliverMessage works turn.DeliverArgs: the agents of a message hear of it, also
// when the server died between the commit and the nudge (row P2). Doing it twice
// changes nothing.
type DeliverMessage struct {
	river.WorkerDefaults[turn.DeliverArgs]
	Gateway *flow.Gateway
}

// Work implements river.Worker.
func (w *DeliverMessage) Work(ctx context.Context, job *river.Job[turn.DeliverArgs]) error {
	return w.Gateway.Deliver(ctx, job.Args.ConversationID, job.Args.MessageID)
}

// Add adds every worker to the bundle. It must be called before the client starts.
// A kind without a worker would be retried for days and then dropped.
func Add(workers *river.Workers, gateway *flow.Gateway, chat *flow.Chat, approvals *flow.Approvals) {
	river.AddWorker(workers, &DeliverMessage{Gateway: gateway})
	river.AddWorker(workers, &RetireAgent{Gateway: gateway, Approvals: approvals})
	river.AddWorker(workers, &ExpireApprovals{Approvals: approvals})
	river.AddWorker(workers, &SayDecision{Approvals: approvals})
	river.AddWorker(workers, &PruneChanges{Chat: chat})
}
