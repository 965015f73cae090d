package external

import (
	"context"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/pg"
)

// AddDeposit puts a message into the inboxes of agents, in a batch. It adds nothing
// for no agents.
func AddDeposit(b *pg.Batch, conv id.Conversation, m id.Message, agents []id.Participant) {
	if len(agents) > 0 {
		b.Add(nil, sqlDeposit, id.Strings(agents), m, conv)
	}
}

// Taken is a message that a reader got for itself.
type Taken struct {
	MessageID      id.Message
	ConversationID id.Conversation
}

// TakeTx marks messages of an agent's inbox as read and returns those that nobody
// had read before: of two readers one gets a message. session may be zero.
func TakeTx(ctx context.Context, tx *pg.Tx, agent id.Participant, ms []id.Message, session id.ExternalSession) ([]Taken, error) {
	if len(ms) == 0 {
		return nil, nil
	}
	return pg.Rows[Taken](ctx, tx, "read inbox", sqlTake, agent, id.Strings(ms), session)
}

// CloseTx ends the waiting of what an agent, zero for every agent, has not read in a
// room, and keeps the reason. It gives the messages, one for each agent that it waited for.
func CloseTx(ctx context.Context, tx *pg.Tx, room id.Conversation, agent id.Participant, reason string) ([]id.Message, error) {
	return pg.Column[id.Message](ctx, tx, "close inbox of room", sqlClose, room, agent, reason)
}
