package present

import (
	"encoding/json"

	"github.com/agntchat/agntchat/internal/account"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// Features are the flags that are on (decision 7): each stands for something built.
// What the deployment has switched off is absent.
func Features(noExternal bool) map[string]bool {
	on := map[string]bool{"stream_text": true, "turn_anchor": true, "work_surfaces": true, "external_agents": true}
	if noExternal {
		delete(on, "external_agents")
	}
	return on
}

// Self is the signed-in person (desktop 2.5).
func Self(s view.Self, noExternal bool) wire.Self {
	a := s.Account
	out := wire.Self{
		ID: a.ID.String(), Type: "human", DisplayName: s.Participant.DisplayName, FirstName: ptr(a.FirstName), LastName: a.LastName, Email: a.Email,
		AvatarURL: s.Participant.AvatarURL, Description: a.Description, Metadata: object(a.Metadata), Timezone: a.Timezone, Locale: a.Locale, Online: true,
		InsertedAt: wire.At(a.InsertedAt), OrganizationID: idPtr(a.ActiveOrganizationID), ActiveOrganizationID: idPtr(a.ActiveOrganizationID),
		Organizations: []wire.SelfOrganization{}, PlatformAdmin: a.PlatformAdmin, Features: Features(noExternal), HostedHostRuntime: json.RawMessage("null"),
		MarketingOptIn: a.MarketingOptIn, AnalyticsOptIn: a.AnalyticsOptIn, AcceptedPolicyVersion: a.AcceptedPolicyVersion,
		PolicyReacceptRequired: a.AcceptedPolicyVersion == nil || *a.AcceptedPolicyVersion != account.PolicyVersion, Capabilities: []string{}, Status: s.Participant.Status,
	}
	if a.Location != nil {
		out.Location = *a.Location
	}
	for _, w := range s.Workspaces {
		out.Organizations = append(out.Organizations, wire.SelfOrganization{ID: w.OrganizationID.String(), Name: w.Name, AvatarURL: w.AvatarURL, IsPersonal: w.IsPersonal, Role: w.Role})
	}
	return out
}

// Session is one sign-in; current marks the one that asks.
func Session(s account.Session, current id.Session) wire.Session {
	return wire.Session{ID: s.ID.String(), Current: s.ID == current, UserAgent: s.UserAgent, IP: s.Address, CreatedAt: wire.At(s.InsertedAt), LastSeenAt: wire.At(s.LastSeenAt)}
}

// LLMKey is a stored model key without its secret.
func LLMKey(k account.LLMKey) wire.LLMKey {
	return wire.LLMKey{
		ID: k.ID.String(), Provider: k.Provider, Label: k.Label, Fingerprint: k.Fingerprint, IsDefault: k.IsDefault, Status: k.Status,
		LastValidatedAt: wire.AtOrNil(k.LastValidatedAt), InsertedAt: wire.At(k.InsertedAt), UpdatedAt: wire.At(k.UpdatedAt),
	}
}

func ptr(s string) *string { return &s }

func idPtr[I interface {
	IsZero() bool
	String() string
}](i I) *string {
	if i.IsZero() {
		return nil
	}
	return ptr(i.String())
}

// object gives {} for a missing map: clients index into it.
func object(b json.RawMessage) json.RawMessage {
	if len(b) == 0 || string(b) == "null" {
		return json.RawMessage("{}")
	}
	return b
}
