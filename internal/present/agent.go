package present

import (
	"github.com/agntchat/agntchat/internal/agent"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// Presence values of agents (desktop 5.25).
const (
	OnlineLocal = "online_local"
	Offline     = "offline"
)

// Agent is an agent for its owner (mine) or for a room mate, who does not see its
// soul, settings and key.
func Agent(a view.Agent, online, mine bool) wire.Agent {
	out := wire.Agent{
		ID: a.ID.String(), Type: "agent", DisplayName: a.DisplayName, Description: a.Description, AvatarURL: a.AvatarURL, AgentType: a.AgentType,
		OwnerID: a.OwnerID.String(), Status: a.Status, Runtime: a.Runtime, ExternalTool: a.ExternalTool, Presence: Offline, Online: online, PresenceMode: a.PresenceMode,
		IdleTimeoutSeconds: a.IdleTimeoutSeconds, LastActiveAt: wire.AtOrNil(a.LastActiveAt), OrganizationID: nil,
		ModelConfig: object(nil), Metadata: object(nil), Settings: object(nil), Capabilities: a.Capabilities, StructuredCapabilities: object(a.StructuredCapabilities),
		LifecycleStage: "established", InsertedAt: wire.At(a.InsertedAt), UpdatedAt: wire.At(a.UpdatedAt),
	}
	if out.Capabilities == nil {
		out.Capabilities = []string{}
	}
	if online {
		out.Presence, out.DeviceName = OnlineLocal, a.DeviceName
	}
	if mine {
		out.ModelConfig, out.Metadata, out.Settings, out.SoulMD = object(a.ModelConfig), object(a.Metadata), object(a.Settings), a.SoulMD
		out.KeyPrefix = agent.KeyPrefix + a.KeyPrefix
		out.ExternalSession = externalSession(a.ExternalSession)
		if a.OrganizationIDs != nil {
			out.OrganizationIDs = id.Strings(a.OrganizationIDs)
		}
	} else {
		out.DeviceName = nil
	}
	return out
}
