package present

import (
	"github.com/agntchat/agntchat/internal/connection"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/wire"
)

// API is a service for its owner.
func API(c connection.Connection) wire.API {
	out := wire.API{
		ID: c.ID.String(), Name: c.Name, Description: c.Description, BaseURL: c.BaseURL, Auth: wire.APIAuth{Kind: c.AuthKind, Name: c.AuthName, Fingerprint: c.Fingerprint},
		Shared: c.Shared, Enabled: c.Enabled, Operations: make([]wire.APIOperation, len(c.Operations)), AgentIDs: id.Strings(c.Agents),
		InsertedAt: wire.At(c.InsertedAt), UpdatedAt: wire.At(c.UpdatedAt),
	}
	for n, o := range c.Operations {
		out.Operations[n] = wire.APIOperation{Method: o.Method, Path: o.Path, Description: o.Description, Ask: o.Ask}
	}
	return out
}
