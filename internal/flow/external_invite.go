package flow

import (
	"context"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/agent"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/executor"
	"github.com/agntchat/agntchat/internal/external"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/limit"
	"github.com/agntchat/agntchat/internal/participant"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
)

// NewAgentInvite is what a person says of an invite (desktop 4.13). Zero Hours and
// Uses take the defaults; AgentID makes its claim a new key of that agent.
type NewAgentInvite struct {
	DisplayName  string
	Description  string
	Capabilities []string
	AgentID      id.Participant
	Hours        int
	Uses         int
}

var (
	errInvite        = fault.New(fault.Invalid, "invalid", "This invite cannot be made.")
	errInviteClaimed = fault.New(fault.Conflict, "already_claimed", "This invite was claimed already.")
	errInviteRevoked = fault.New(fault.Conflict, "revoked", "This invite was revoked.")
)

// ErrInviteOver is the answer to a code whose time or uses are over; the edge gives
// it 410.
var ErrInviteOver = fault.New(fault.Conflict, "gone", "This invite has expired or is used up.")

func (n *NewAgentInvite) check() error {
	if n.Hours == 0 {
		n.Hours = external.DefaultHours
	}
	if n.Uses == 0 {
		n.Uses = 1
	}
	switch {
	case n.Hours < 1 || n.Hours > external.MaxHours:
		return errInvite.With("ttlHours", "range", "ttlHours must be between 1 and 720.")
	case n.Uses < 1 || n.Uses > external.MaxUses:
		return errInvite.With("maxUses", "range", "maxUses must be between 1 and 100.")
	case n.Uses > 1 && !n.AgentID.IsZero():
		return errInvite.With("maxUses", "range", "An invite for one agent works once: each claim makes a new key.")
	}
	return checkAgent(&AgentPatch{Patch: agent.Patch{Description: &n.Description, Capabilities: &n.Capabilities}})
}

// Invite makes an invite of the caller; the code is shown once.
func (x *External) Invite(ctx context.Context, actor access.Actor, in NewAgentInvite) (out external.Invite, code string, err error) {
	if err := access.RequirePerson(actor); err != nil {
		return out, "", err
	}
	if x.Off {
		return out, "", ErrExternalOff
	}
	if err := in.check(); err != nil {
		return out, "", err
	}
	err = x.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		if !in.AgentID.IsZero() {
			a, err := view.OneAgent(ctx, tx, in.AgentID)
			if err != nil {
				return err
			}
			if err := access.ManageAgent(actor, access.AgentFacts{ID: a.ID, OwnerID: a.OwnerID}); err != nil {
				return err
			}
			in.DisplayName = or(in.DisplayName, a.DisplayName)
		}
		in.DisplayName = or(in.DisplayName, "Terminal")
		name, err := participant.CleanName("displayName", in.DisplayName)
		if err != nil {
			return err
		}
		open, err := external.CountOpenTx(ctx, tx, actor.ID)
		if err != nil {
			return err
		}
		if open >= external.MaxInvites {
			return fault.Newf(fault.Invalid, "too_many", "You can have at most %d open invites. Revoke one first.", external.MaxInvites)
		}
		out, code, err = external.InsertInviteTx(ctx, tx, external.NewInvite{
			CreatedBy: actor.ID, AgentID: in.AgentID, DisplayName: name, Description: in.Description, Capabilities: in.Capabilities, MaxUses: in.Uses, Hours: in.Hours,
		})
		return err
	})
	return out, code, err
}

// Invites are those of the caller, newest first.
func (x *External) Invites(ctx context.Context, actor access.Actor) ([]external.Invite, error) {
	if err := access.RequirePerson(actor); err != nil {
		return nil, err
	}
	return external.Invites(ctx, x.DB, actor.ID)
}

// RevokeInvite ends an invite of the caller. Agents that it made stay.
func (x *External) RevokeInvite(ctx context.Context, actor access.Actor, i id.Invite) error {
	if err := access.RequirePerson(actor); err != nil {
		return err
	}
	return x.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error { return external.RevokeInviteTx(ctx, tx, i, actor.ID) })
}

// failed counts an unknown code of an address towards its limit, and allowed asks
// whether it may try one more: codes cannot be guessed, and nobody is to try.
func (x *External) failed(address string, err error) error {
	if fault.KindOf(err) == fault.NotFound {
		x.claims.Take(limit.Origin(address))
	}
	return err
}

func (x *External) allowed(address string) error {
	if x.Off {
		return ErrExternalOff
	}
	if wait, ok := x.claims.Peek(limit.Origin(address)); !ok {
		return errTooFast.After(wait)
	}
	return nil
}

// InviteInfo is what whoever has the code may know, with the creator's name.
func (x *External) InviteInfo(ctx context.Context, code, address string) (external.Invite, string, error) {
	if err := x.allowed(address); err != nil {
		return external.Invite{}, "", err
	}
	i, err := external.InviteByCode(ctx, x.DB, code)
	if err != nil {
		return external.Invite{}, "", x.failed(address, err)
	}
	p, err := view.Person(ctx, x.DB, i.CreatedBy)
	if err != nil {
		return external.Invite{}, "", external.ErrInviteUnknown
	}
	return i, p.DisplayName, nil
}

// ClaimInvite is what a program says of itself when it becomes an agent.
type ClaimInvite struct {
	External             bool   // runtime external: no executor comes, a session reads
	Tool                 string // of an external one
	ExecutorKey          string // "": none is registered
	ExecutorName         string
	ExecutorCapabilities []string
}

// Claimed is a new agent, or one with a new key.
type Claimed struct {
	Agent    view.Agent
	Key      string
	Executor id.Executor
}

// ClaimInvite trades a code for an agent and its key, in one transaction: of two
// claims of a single invite one wins. Nobody is signed in.
func (x *External) ClaimInvite(ctx context.Context, code, address string, in ClaimInvite) (Claimed, error) {
	if err := x.allowed(address); err != nil {
		return Claimed{}, err
	}
	tool, err := cleanTool(in.Tool)
	if err != nil {
		return Claimed{}, err
	}
	if len(in.ExecutorKey) > 200 || len(in.ExecutorName) > 200 || len(in.ExecutorCapabilities) > 200 {
		return Claimed{}, errInvite.With("executorKey", "too_long", "An executor's key and name may have at most 200 characters.")
	}
	runtime, kind := "local", (*string)(nil)
	if in.External {
		runtime, kind = "external", new(or(tool, external.OtherTool))
	}
	text, key := agent.NewKey(x.Identity.Ring.Derive("agent key"))
	var out Claimed
	err = x.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		i, err := external.LockInviteTx(ctx, tx, code)
		if err != nil {
			return err
		}
		switch i.State() {
		case external.InviteRevoked:
			return errInviteRevoked
		case external.InviteClaimed:
			return errInviteClaimed
		case external.InviteExpired, external.InviteUsedUp:
			return ErrInviteOver
		}
		if err := external.UseInviteTx(ctx, tx, i.ID); err != nil {
			return err
		}
		creator, err := view.Person(ctx, tx, i.CreatedBy)
		if err != nil {
			return external.ErrInviteUnknown
		}
		out.Key = text
		if i.AgentID.IsZero() {
			owner := access.Actor{Kind: access.Person, ID: creator.ID, OwnerID: creator.ID, OrganizationID: creator.ActiveOrganizationID, DisplayName: creator.DisplayName}
			out.Agent, err = x.Identity.createAgentTx(ctx, tx, owner, NewAgent{
				DisplayName: i.DisplayName, Description: i.Description, AgentType: "worker", Capabilities: i.Capabilities, Runtime: runtime, ExternalTool: kind,
			}, key)
			return err
		}
		a, err := view.OneAgent(ctx, tx, i.AgentID)
		if err != nil || a.OwnerID != i.CreatedBy || a.Status != participant.Active {
			return external.ErrInviteUnknown
		}
		if _, err := agent.SetKeyTx(ctx, tx, a.ID, key); err != nil {
			return err
		}
		if err := agent.SetRuntimeTx(ctx, tx, a.ID, runtime, kind); err != nil {
			return err
		}
		out.Agent, err = view.OneAgent(ctx, tx, a.ID)
		tx.Publish(event.UserTopic(a.OwnerID.String()), AgentChanged{AgentUpdated, out.Agent})
		return err
	})
	if err != nil {
		return Claimed{}, x.failed(address, err)
	}
	x.Identity.forgetAgent(out.Agent.ID)
	x.Identity.disconnect.DisconnectParticipant(out.Agent.ID, "invite claimed")
	if in.ExecutorKey == "" {
		return out, nil
	}
	who := access.Actor{Kind: access.Agent, ID: out.Agent.ID, OwnerID: out.Agent.OwnerID, OrganizationID: out.Agent.OrganizationID, DisplayName: out.Agent.DisplayName}
	ex, err := x.Gateway.RegisterExecutor(ctx, who, executor.Registration{Key: in.ExecutorKey, DisplayName: in.ExecutorName, Capabilities: in.ExecutorCapabilities, MaxConcurrent: 1})
	out.Executor = ex.ID
	return out, err
}
