package flow

import (
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
)

// ActiveOrganizationChanged tells a person's devices that they look at another workspace.
type ActiveOrganizationChanged struct {
	AccountID      id.Participant
	OrganizationID id.Organization
}

// Topic is the person's own.
func (e ActiveOrganizationChanged) Topic() string { return event.UserTopic(e.AccountID.String()) }

// AgentChange says what happened to an agent.
type AgentChange string

// The changes, named as the events are.
const (
	AgentCreated     AgentChange = "agent_created"
	AgentUpdated     AgentChange = "agent_updated"
	AgentDeactivated AgentChange = "agent_deactivated"
	AgentDeleted     AgentChange = "agent_deleted"
)

// AgentChanged tells an agent's owner.
type AgentChanged struct {
	Change AgentChange
	Agent  view.Agent
}

// Topic is the owner's.
func (e AgentChanged) Topic() string { return event.UserTopic(e.Agent.OwnerID.String()) }
