package channel

import (
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// EncodeIdentity turns the events of accounts and agents into frames for their owners.
func EncodeIdentity(online func(id.Participant) bool) Encode {
	return func(ev event.Event) ([]Out, bool) {
		switch e := ev.(type) {
		case flow.ActiveOrganizationChanged:
			return []Out{{Topics: []string{e.Topic()}, Event: "active_organization_changed", Payload: wire.ActiveOrganizationChanged{OrganizationID: e.OrganizationID.String()}}}, true
		case flow.AgentChanged:
			return []Out{{Topics: []string{e.Topic()}, Event: string(e.Change), Payload: present.Agent(e.Agent, online(e.Agent.ID), true)}}, true
		}
		return nil, false
	}
}
