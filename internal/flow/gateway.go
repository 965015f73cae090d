package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/id"
)

// Gateway is the use cases of executors, claims and turns. Build it with
// NewGateway; Start rebuilds the registry and begins to claim.
type Gateway struct{}

// Touch is a sign of life of the agent's turn in a room (a stream frame): it marks
// the claim seen and extends it. A bridge of ours names the row and its
// generation; when that claim is lost the error is turn.ErrLost (403
// executor_not_owned). Without a name and without a claim it does nothing.
func (g *Gateway) Touch(ctx context.Context, agent id.Participant, conv id.Conversation, queueID *id.QueueItem, generation *int64) error {
	return nil
}

// Wake says that there may be work for these agents. It carries no content, never
// blocks, and may be called from AfterCommit.
func (g *Gateway) Wake(agents ...id.Participant) {}
