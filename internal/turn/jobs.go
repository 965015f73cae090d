package turn

import (
	"github.com/agntchat/agntchat/internal/id"
)

// DeliverArgs is the River job that makes sure the agents of a message hear of
// it: the nudge after commit is only faster. It carries no content.
type DeliverArgs struct {
	ConversationID id.Conversation `json:"conversation_id"`
	MessageID      id.Message      `json:"message_id"`
}

// Kind is River's name of the job.
func (DeliverArgs) Kind() string { return "deliver_message" }

// RetireArgs is the River job that closes what an agent still had to answer when
// it was deleted or switched off.
type RetireArgs struct {
	AgentID id.Participant `json:"agent_id"`
}

// Kind is River's name of the job.
func (RetireArgs) Kind() string { return "retire_agent" }
