package present

import (
	"encoding/json"
	"time"

	"github.com/agntchat/agntchat/internal/approval"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// PermissionState is a request as the agent that asked sees it (bridge 4.9).
func PermissionState(a approval.Approval) wire.PermissionState {
	out := wire.PermissionState{
		Status: a.Status.Word(), RequestID: a.ID.String(), ID: a.ID.String(), State: string(a.Status), ActionHash: a.Hash(), ExpiresAt: wire.At(a.ExpiresAt), Text: a.DecisionText,
	}
	if a.Status == approval.Edited {
		out.Input = a.InputOf()
	}
	return out
}

// PermissionRequest is a request as those see it who may decide.
func PermissionRequest(a view.Approval) wire.PermissionRequest {
	out := wire.PermissionRequest{
		ID: a.ID.String(), AgentID: a.AgentID.String(), OwnerID: a.OwnerID.String(), ConversationID: idPtr(a.ConversationID), TaskID: idPtr(a.TaskID), ToolName: a.ToolName,
		ToolInput: approval.Input(a.Action), Description: textOrNil(a.Description), Status: a.Status.Word(), DecisionScope: a.DecisionScope, ScopeKind: string(a.ScopeKind),
		ScopeFacet: a.ScopeFacet, ExpiresAt: wire.At(a.ExpiresAt), InsertedAt: wire.At(a.InsertedAt), State: string(a.Status), Action: a.Action, ActionHash: a.ActionHash,
		Reason: textOrNil(a.Reason), Risk: string(a.Risk), Durable: a.Durable, AgentName: a.AgentName, ConversationTitle: a.ConversationTitle, Scopes: a.Scopes(),
		DecidedBy: idPtr(a.DecidedBy), DecidedByName: a.DecidedByName, DecidedAt: wire.AtOrNil(a.DecidedAt), DecisionText: textOrNil(a.DecisionText), EditedInput: orNull(nil),
		GrantID: idPtr(a.GrantID), Outcome: a.ToldOutcome, DecidersNeeded: a.DecidersNeeded, AllowedBy: id.Strings(a.AllowedBy), AllowedByNames: orNone(a.AllowedByNames),
	}
	if a.Status == approval.Pending && a.ProposedAction != nil {
		out.Changed, out.Action, out.ActionHash, out.ToolInput = true, *a.ProposedAction, a.Current(), approval.Input(*a.ProposedAction)
	}
	if a.EditedAction != nil {
		out.EditedInput = a.InputOf()
	}
	return out
}

// PermissionAsked is the event of a new request, told like a mention.
func PermissionAsked(a view.Approval) wire.PermissionRequest {
	out := PermissionRequest(a)
	out.NotificationCategory = new("mentions")
	return out
}

// PermissionRequests is a list of requests.
func PermissionRequests(list []view.Approval) wire.PermissionRequests {
	out := wire.PermissionRequests{Requests: make([]wire.PermissionRequest, len(list))}
	for n, a := range list {
		out.Requests[n] = PermissionRequest(a)
	}
	return out
}

// ApprovalGrants is a list of standing yeses; title says what a tool does, in English.
func ApprovalGrants(list []view.Grant, title func(tool string) string) wire.ApprovalGrants {
	out := wire.ApprovalGrants{Grants: make([]wire.ApprovalGrant, len(list))}
	for n, g := range list {
		room := idPtr(g.ConversationID)
		if g.RoomGone {
			room = nil
		}
		out.Grants[n] = wire.ApprovalGrant{
			ID: g.ID.String(), AgentID: g.AgentID.String(), AgentName: g.AgentName, ToolName: g.ToolName, ToolTitle: title(g.ToolName), ScopeKind: string(g.Kind), ScopeFacet: g.Facet,
			Covers: g.Words(), Action: g.Action, ActionCut: g.ActionCut, ConversationID: room, ConversationTitle: g.ConversationTitle, RoomGone: g.RoomGone,
			GrantedBy: named(g.GrantedBy, g.GrantedByName), Uses: g.Uses, LastUsedAt: wire.AtOrNil(g.LastUsedAt), ExpiresAt: wire.At(g.ExpiresAt), InsertedAt: wire.At(g.InsertedAt),
		}
	}
	return out
}

func named(who id.Participant, name string) wire.NamedPerson {
	return wire.NamedPerson{ID: who.String(), DisplayName: name}
}

// GatewayApproval is a claimed decision (docs/protocol.md 9).
func GatewayApproval(d flow.ApprovalDelivery) wire.GatewayApproval {
	a := d.Approval
	out := wire.GatewayApproval{
		ID: d.Row.ID.String(), Generation: d.Row.Generation, LeaseSeconds: int(d.Lease / time.Second), RequestID: a.ID.String(), Status: string(a.Status), ActionHash: a.Hash(),
		ToolName: a.ToolName, Input: a.InputOf(), Edited: a.Status == approval.Edited, Text: a.DecisionText, Resume: orNull(nil), RunID: a.RunID, ToolUseID: a.ToolUseID,
		ConversationID: idPtr(a.ConversationID), TaskID: idPtr(a.TaskID),
	}
	if a.Resume != nil {
		out.Resume = json.RawMessage(*a.Resume)
	}
	return out
}

// CredentialRequest is a question for a secret; the secret is in no answer.
func CredentialRequest(c view.Credential) wire.CredentialRequest {
	return wire.CredentialRequest{
		ID: c.ID.String(), AgentID: c.AgentID.String(), AgentName: &c.AgentName, OwnerID: c.OwnerID.String(), ConversationID: idPtr(c.ConversationID), RoomTitle: c.ConversationTitle, Label: c.Label,
		Reason: textOrNil(c.Reason), Endpoint: c.Endpoint, AuthMode: c.AuthMode, Status: string(c.Status), CredentialID: idPtr(c.CredentialID), ExpiresAt: wire.At(c.ExpiresAt),
		InsertedAt: wire.At(c.InsertedAt), TaskID: idPtr(c.TaskID), Fingerprint: c.Fingerprint, Uses: c.Uses, LastUsedAt: wire.AtOrNil(c.LastUsedAt),
	}
}

// CredentialRequests is a list of them.
func CredentialRequests(list []view.Credential) wire.CredentialRequests {
	out := wire.CredentialRequests{Requests: make([]wire.CredentialRequest, len(list))}
	for n, c := range list {
		out.Requests[n] = CredentialRequest(c)
	}
	return out
}

// Decisions is everything that waits for a person (desktop 5.22).
func Decisions(list []view.Decision) wire.Decisions {
	out := wire.Decisions{Decisions: make([]wire.Decision, len(list))}
	for n, d := range list {
		out.Decisions[n] = wire.Decision{
			Kind: d.Kind, ID: d.Kind + ":" + d.SourceID.String(), SourceID: d.SourceID.String(), ConversationID: idPtr(d.ConversationID), RoomTitle: d.RoomTitle, TaskID: idPtr(d.TaskID),
			Agent: &wire.DecisionAgent{ID: d.AgentID.String(), DisplayName: &d.AgentName}, InsertedAt: wire.At(d.InsertedAt),
			Description: textOrNil(d.Description), Question: textOrNil(d.Question), Label: textOrNil(d.Label), ToolName: textOrNil(d.ToolName), Title: textOrNil(d.Title),
			Options: d.Options, Field: d.Field, DefaultValue: d.DefaultValue, ExpiresAt: wire.At(d.ExpiresAt), Used: d.Used, TokensPerDay: d.TokensPerDay,
		}
	}
	return out
}

// PastDecision is what waited for a person and is over.
func PastDecision(d view.PastDecision) wire.PastDecision {
	out := wire.PastDecision{
		Kind: d.Kind, ID: d.Kind + ":" + d.SourceID.String(), SourceID: d.SourceID.String(), Outcome: d.Outcome, Agent: named(d.AgentID, d.AgentName),
		ConversationID: idPtr(d.ConversationID), ConversationTitle: d.ConversationTitle, TaskID: idPtr(d.TaskID), InsertedAt: wire.At(d.InsertedAt), EndedAt: wire.At(d.EndedAt),
		Title: textOrNil(d.Title), Description: textOrNil(d.Reason), Question: textOrNil(d.Question), Options: d.Options, Answer: d.Answer, Label: textOrNil(d.Label),
		ParticipantID: idPtr(d.ParticipantID), ParticipantType: d.ParticipantKind, Endpoint: d.Endpoint, Fingerprint: d.Fingerprint, TakenAway: d.SecretGone,
		Used: d.Used, TokensPerDay: d.TokensPerDay, RaisedTo: d.RaisedTo,
	}
	if !d.DecidedBy.IsZero() {
		who := named(d.DecidedBy, *d.DecidedByName)
		out.DecidedBy = &who
	}
	switch {
	case d.Approval != nil:
		r := PermissionRequest(*d.Approval)
		out.Request = &r
		if d.GrantExpiresAt != nil {
			out.Grant = &wire.PastGrant{ID: d.GrantID.String(), Uses: *d.Uses, ExpiresAt: wire.At(*d.GrantExpiresAt), RevokedAt: wire.AtOrNil(d.GrantRevokedAt)}
		}
	default:
		out.Uses = d.Uses
	}
	return out
}

func textOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// ApprovalRule says who decides at a place; nil where one person does.
func ApprovalRule(r *view.ApprovalRule) wire.ApprovalRuleAnswer {
	if r == nil {
		return wire.ApprovalRuleAnswer{}
	}
	out := &wire.ApprovalRule{
		LeastRisk: string(r.LeastRisk), DeciderIDs: id.Strings(r.Deciders), Deciders: make([]wire.NamedPerson, len(r.Deciders)), SetBy: named(r.SetBy, r.SetByName), UpdatedAt: wire.At(r.UpdatedAt),
	}
	for n, d := range r.Deciders {
		out.Deciders[n] = named(d, r.DeciderNames[n])
	}
	return wire.ApprovalRuleAnswer{Rule: out}
}

// MemberRequest is a question to let somebody into a room.
func MemberRequest(r view.MemberRequest) wire.MemberRequest {
	return wire.MemberRequest{
		ID: r.ID.String(), ConversationID: r.ConversationID.String(), ConversationTitle: r.ConversationTitle, AgentID: r.AgentID.String(), AgentName: r.AgentName,
		ParticipantID: r.ParticipantID.String(), ParticipantName: r.ParticipantName, ParticipantType: r.ParticipantKind, TaskID: idPtr(r.TaskID), Reason: textOrNil(r.Reason),
		Status: string(r.Status), DecidedBy: idPtr(r.DecidedBy), ExpiresAt: wire.At(r.ExpiresAt), InsertedAt: wire.At(r.InsertedAt),
	}
}

// AgentBudget is what an agent may use in a day; nil without a bound.
func AgentBudget(b *turn.Budget) wire.AgentBudgetAnswer {
	if b == nil {
		return wire.AgentBudgetAnswer{}
	}
	return wire.AgentBudgetAnswer{Budget: &wire.AgentBudget{
		TokensPerDay: b.TokensPerDay, UsedToday: b.Used, Timezone: b.Zone, DayEndsAt: wire.At(b.EndsAt), Stopped: b.Over(), Decision: b.Stop,
	}}
}

// BudgetStop is the day on which an agent had work and no tokens left.
func BudgetStop(s turn.Stop, name string) wire.BudgetStop {
	return wire.BudgetStop{
		ID: s.ID.String(), AgentID: s.AgentID.String(), AgentName: name, TokensPerDay: s.TokensPerDay, Used: s.Used, Status: s.Status,
		ExpiresAt: wire.At(s.ExpiresAt), InsertedAt: wire.At(s.InsertedAt),
	}
}
