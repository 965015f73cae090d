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

// PermissionRequests is a list of requests; more tells that older ones exist.
func PermissionRequests(list []view.Approval, more bool) wire.PermissionRequests {
	out := wire.PermissionRequests{Requests: make([]wire.PermissionRequest, len(list)), HasMore: more}
	for n, a := range list {
		out.Requests[n] = PermissionRequest(a)
	}
	return out
}

// ApprovalGrants is a list of standing yeses.
func ApprovalGrants(list []view.Grant) wire.ApprovalGrants {
	out := wire.ApprovalGrants{Grants: make([]wire.ApprovalGrant, len(list))}
	for n, g := range list {
		out.Grants[n] = wire.ApprovalGrant{
			ID: g.ID.String(), AgentID: g.AgentID.String(), AgentName: g.AgentName, ToolName: g.ToolName, ScopeKind: string(g.Kind), ScopeFacet: g.Facet,
			ConversationID: idPtr(g.ConversationID), ConversationTitle: g.ConversationTitle, Uses: g.Uses, LastUsedAt: wire.AtOrNil(g.LastUsedAt),
			ExpiresAt: wire.At(g.ExpiresAt), InsertedAt: wire.At(g.InsertedAt),
		}
	}
	return out
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
		ID: c.ID.String(), AgentID: c.AgentID.String(), AgentName: &c.AgentName, OwnerID: c.OwnerID.String(), ConversationID: idPtr(c.ConversationID), Label: c.Label,
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
			Kind: d.Kind, ID: d.Kind + ":" + d.SourceID.String(), SourceID: d.SourceID.String(), ConversationID: idPtr(d.ConversationID), TaskID: idPtr(d.TaskID),
			Agent: &wire.DecisionAgent{ID: d.AgentID.String(), DisplayName: &d.AgentName}, InsertedAt: wire.At(d.InsertedAt),
			Description: textOrNil(d.Description), Question: textOrNil(d.Question), Label: textOrNil(d.Label), ToolName: textOrNil(d.ToolName), Title: textOrNil(d.Title),
			Options: d.Options, DefaultValue: d.DefaultValue, ExpiresAt: wire.At(d.ExpiresAt), Used: d.Used, TokensPerDay: d.TokensPerDay,
		}
	}
	return out
}

// AnsweredAsks are questions of tasks that are over.
func AnsweredAsks(list []view.AnsweredAsk, more bool) wire.AnsweredAsks {
	out := wire.AnsweredAsks{Asks: make([]wire.AnsweredAsk, len(list)), HasMore: more}
	for n, k := range list {
		out.Asks[n] = wire.AnsweredAsk{
			ID: k.ID.String(), TaskID: k.TaskID.String(), Title: k.Title, ConversationID: k.ConversationID.String(), AgentID: k.AgentID.String(), AgentName: k.AgentName,
			Question: k.Question, Status: k.Status, Answer: k.Answer, AnsweredBy: idPtr(k.AnsweredBy), AnsweredByName: k.AnsweredByName,
			EndedAt: wire.At(k.EndedAt), InsertedAt: wire.At(k.InsertedAt),
		}
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
func ApprovalRule(r *approval.Rule) wire.ApprovalRuleAnswer {
	if r == nil {
		return wire.ApprovalRuleAnswer{}
	}
	return wire.ApprovalRuleAnswer{Rule: &wire.ApprovalRule{LeastRisk: string(r.LeastRisk), DeciderIDs: id.Strings(r.Deciders)}}
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
