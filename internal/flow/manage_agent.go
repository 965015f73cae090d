package flow

import (
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/account"
	"github.com/agntchat/agntchat/internal/agent"
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/memory"
	"github.com/agntchat/agntchat/internal/participant"
	"github.com/agntchat/agntchat/internal/pg"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/workspace"
)

// NewAgent is what a person says of a new agent.
type NewAgent struct {
	DisplayName     string
	Description     string
	AgentType       string
	Capabilities    []string
	AvatarURL       *string
	ModelConfig     json.RawMessage
	Metadata        json.RawMessage
	SoulMD          string
	OrganizationIDs []id.Organization // nil = visible everywhere
	Runtime         string            // "" is local
	ExternalTool    *string           // of runtime external
}

// CreateAgent makes an agent of the caller and returns its API key, shown once.
func (i *Identity) CreateAgent(ctx context.Context, actor access.Actor, in NewAgent) (view.Agent, string, error) {
	if err := access.RequirePerson(actor); err != nil {
		return view.Agent{}, "", err
	}
	text, key := agent.NewKey(i.Ring.Derive("agent key"))
	var out view.Agent
	err := i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) (err error) {
		out, err = i.createAgentTx(ctx, tx, actor, in, key)
		return err
	})
	return out, text, err
}

// createAgentTx makes an agent of a person with that key and tells its owner.
func (i *Identity) createAgentTx(ctx context.Context, tx *pg.Tx, owner access.Actor, in NewAgent, key agent.Key) (view.Agent, error) {
	name, err := participant.CleanName("displayName", in.DisplayName)
	if err != nil {
		return view.Agent{}, err
	}
	in.AgentType, in.Runtime = or(in.AgentType, "worker"), or(in.Runtime, "local")
	p := AgentPatch{Patch: agent.Patch{Description: &in.Description, AgentType: &in.AgentType, Capabilities: &in.Capabilities, SoulMD: &in.SoulMD, ModelConfig: in.ModelConfig, Metadata: in.Metadata}, AvatarURL: &in.AvatarURL}
	if err := checkAgent(&p); err != nil {
		return view.Agent{}, err
	}
	if err := account.HoldTx(ctx, tx, owner.ID); err != nil {
		return view.Agent{}, err
	}
	have, err := view.CountAgents(ctx, tx, owner.ID)
	if err != nil {
		return view.Agent{}, err
	}
	if have >= agent.MaxAgents {
		return view.Agent{}, fault.Newf(fault.Invalid, "too_many", "You can have at most %d agents. Delete one first.", agent.MaxAgents)
	}
	for _, o := range in.OrganizationIDs {
		if _, err := workspace.RoleOf(ctx, tx, o, owner.ID); err != nil {
			return view.Agent{}, err
		}
	}
	aid := id.New[id.Participant]()
	if err := participant.InsertTx(ctx, tx, participant.Participant{ID: aid, Kind: participant.Agent, DisplayName: name, AvatarURL: *p.AvatarURL}); err != nil {
		return view.Agent{}, err
	}
	err = agent.InsertTx(ctx, tx, agent.New{
		ID: aid, OwnerID: owner.ID, Description: in.Description, AgentType: in.AgentType, Capabilities: in.Capabilities, Metadata: in.Metadata,
		ModelConfig: p.ModelConfig, SoulMD: in.SoulMD, Runtime: in.Runtime, ExternalTool: in.ExternalTool, OrganizationID: owner.OrganizationID,
		OrganizationIDs: in.OrganizationIDs, Key: key,
	})
	if err != nil {
		return view.Agent{}, err
	}
	out, err := view.OneAgent(ctx, tx, aid)
	if err != nil {
		return view.Agent{}, err
	}
	tx.Publish(event.UserTopic(owner.ID.String()), AgentChanged{AgentCreated, out})
	return out, nil
}

// Agents lists the caller's agents visible in the active workspace, or all of them.
func (i *Identity) Agents(ctx context.Context, actor access.Actor, all bool) ([]view.Agent, error) {
	if err := access.RequirePerson(actor); err != nil {
		return nil, err
	}
	org := actor.OrganizationID
	if all {
		org = id.Organization{}
	}
	return view.AgentsOf(ctx, i.DB, actor.ID, org)
}

// Agent reads one agent: its owner sees all of it, a room mate what others see
// (mine is false), anybody else nothing.
func (i *Identity) Agent(ctx context.Context, actor access.Actor, aid id.Participant) (a view.Agent, mine bool, err error) {
	a, err = view.OneAgent(ctx, i.DB, aid)
	if err != nil {
		return view.Agent{}, false, err
	}
	if actor.ID == a.OwnerID || actor.ID == a.ID {
		return a, true, nil
	}
	shared, err := view.ShareRoom(ctx, i.DB, actor.ID, aid)
	if err != nil {
		return view.Agent{}, false, err
	}
	if !shared {
		return view.Agent{}, false, fault.ErrNotFound
	}
	return a, false, nil
}

// AgentPatch changes an agent; nil fields stay.
type AgentPatch struct {
	DisplayName *string
	AvatarURL   **string
	Status      *string // active | deactivated
	agent.Patch
}

// EditAgent applies a change by the agent's owner, or by the agent itself where
// own is true (its model configuration and capabilities).
func (i *Identity) EditAgent(ctx context.Context, actor access.Actor, aid id.Participant, own bool, p AgentPatch) (view.Agent, error) {
	if err := checkAgent(&p); err != nil {
		return view.Agent{}, err
	}
	var out view.Agent
	err := i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		a, err := view.OneAgent(ctx, tx, aid)
		if err != nil {
			return err
		}
		if !own || actor.ID != aid {
			if err := access.ManageAgent(actor, access.AgentFacts{ID: a.ID, OwnerID: a.OwnerID}); err != nil {
				return err
			}
		}
		for _, o := range p.OrganizationIDs {
			if _, err := workspace.RoleOf(ctx, tx, o, a.OwnerID); err != nil {
				return err
			}
		}
		if p.DisplayName != nil {
			name, err := participant.CleanName("displayName", *p.DisplayName)
			if err != nil {
				return err
			}
			if err := participant.RenameTx(ctx, tx, aid, name); err != nil {
				return err
			}
		}
		if p.AvatarURL != nil {
			if err := participant.SetAvatarTx(ctx, tx, aid, *p.AvatarURL); err != nil {
				return err
			}
		}
		change := AgentUpdated
		if p.Status != nil && *p.Status != a.Status {
			if err := participant.SetStatusTx(ctx, tx, aid, *p.Status); err != nil {
				return err
			}
			if *p.Status == participant.Deactivated {
				change = AgentDeactivated
				if err := i.retireTx(ctx, tx, aid); err != nil {
					return err
				}
			}
		}
		if p.SoulMD != nil {
			if err := replaceSoulTx(ctx, tx, actor, aid, *p.SoulMD); err != nil {
				return err
			}
		}
		if err := agent.PatchTx(ctx, tx, aid, p.Patch); err != nil {
			return err
		}
		out, err = view.OneAgent(ctx, tx, aid)
		tx.Publish(event.UserTopic(a.OwnerID.String()), AgentChanged{change, out})
		return err
	})
	if err != nil {
		return view.Agent{}, err
	}
	i.forgetAgent(aid)
	if out.Status != participant.Active {
		i.disconnect.DisconnectParticipant(aid, "agent deactivated")
	}
	return out, nil
}

// DeleteAgent is the soft delete: the agent's key dies, its sockets close, it
// leaves all lists; its messages stay under its name.
func (i *Identity) DeleteAgent(ctx context.Context, actor access.Actor, aid id.Participant) error {
	err := i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		a, err := view.OneAgent(ctx, tx, aid)
		if err != nil {
			return err
		}
		if err := access.ManageAgent(actor, access.AgentFacts{ID: a.ID, OwnerID: a.OwnerID}); err != nil {
			return err
		}
		if err := participant.SetStatusTx(ctx, tx, aid, participant.Deleted); err != nil {
			return err
		}
		if err := memory.ForgetAgentTx(ctx, tx, aid); err != nil {
			return err
		}
		a.Status = participant.Deleted
		tx.Publish(event.UserTopic(a.OwnerID.String()), AgentChanged{AgentDeleted, a})
		return i.retireTx(ctx, tx, aid)
	})
	if err != nil {
		return err
	}
	i.forgetAgent(aid)
	i.disconnect.DisconnectParticipant(aid, "agent deleted")
	return nil
}

// DeleteAgentByName is DeleteAgent that asks for the agent's name first.
func (i *Identity) DeleteAgentByName(ctx context.Context, actor access.Actor, aid id.Participant, confirm string) error {
	a, err := view.OneAgent(ctx, i.DB, aid)
	if err != nil {
		return err
	}
	if err := access.ManageAgent(actor, access.AgentFacts{ID: a.ID, OwnerID: a.OwnerID}); err != nil {
		return err
	}
	if confirm != a.DisplayName {
		return fault.New(fault.Invalid, "confirm_required", "Type the agent's name to confirm.").With("confirmName", "mismatch", "This is not the agent's name.")
	}
	return i.DeleteAgent(ctx, actor, aid)
}

// RegenerateKey puts a new key in force: the old one and all tokens made from it
// are dead at once, and sockets opened with them are closed.
func (i *Identity) RegenerateKey(ctx context.Context, actor access.Actor, aid id.Participant) (view.Agent, string, error) {
	text, key := agent.NewKey(i.Ring.Derive("agent key"))
	var out view.Agent
	err := i.DB.InTx(ctx, func(ctx context.Context, tx *pg.Tx) error {
		a, err := view.OneAgent(ctx, tx, aid)
		if err != nil {
			return err
		}
		if err := access.ManageAgent(actor, access.AgentFacts{ID: a.ID, OwnerID: a.OwnerID}); err != nil {
			return err
		}
		if _, err := agent.SetKeyTx(ctx, tx, aid, key); err != nil {
			return err
		}
		out, err = view.OneAgent(ctx, tx, aid)
		return err
	})
	if err != nil {
		return view.Agent{}, "", err
	}
	i.forgetAgent(aid)
	i.disconnect.DisconnectParticipant(aid, "key regenerated")
	return out, text, nil
}

var agentTypes = map[string]bool{"worker": true, "orchestrator": true, "reviewer": true, "observer": true}

func checkAgent(p *AgentPatch) error {
	bad := func(field, code, msg string) error {
		return fault.New(fault.Invalid, "invalid", msg).With(field, code, msg)
	}
	if p.Description != nil && utf8.RuneCountInString(*p.Description) > agent.MaxDescription {
		return bad("description", "too_long", "A description may have at most 1000 characters.")
	}
	if p.SoulMD != nil && utf8.RuneCountInString(*p.SoulMD) > agent.MaxSoul {
		return bad("soulMd", "too_long", "A soul may have at most 100000 characters.")
	}
	if p.AgentType != nil && !agentTypes[*p.AgentType] {
		return bad("agentType", "unknown", "Use worker, orchestrator, reviewer or observer.")
	}
	if p.Status != nil && *p.Status != participant.Active && *p.Status != participant.Deactivated {
		return bad("status", "unknown", "Use active or deactivated.")
	}
	if p.Capabilities != nil {
		if len(*p.Capabilities) > 100 {
			return bad("capabilities", "too_many", "At most 100 capabilities.")
		}
		for _, c := range *p.Capabilities {
			if strings.TrimSpace(c) == "" || utf8.RuneCountInString(c) > 100 {
				return bad("capabilities", "invalid", "A capability has 1 to 100 characters.")
			}
		}
	}
	if p.AvatarURL != nil {
		u, err := cleanAvatar(*p.AvatarURL)
		if err != nil {
			return err
		}
		*p.AvatarURL = u
	}
	for field, raw := range map[string]json.RawMessage{"metadata": p.Metadata, "settings": p.Settings, "structuredCapabilities": p.StructuredCapabilities} {
		if err := checkObject(field, raw); err != nil {
			return err
		}
	}
	clean, err := agent.CleanModelConfig(p.ModelConfig)
	p.ModelConfig = clean
	return err
}

// maxObject is the largest free-form object in bytes (decision 5).
const maxObject = 64 << 10

func checkObject(field string, raw json.RawMessage) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	if len(raw) > maxObject {
		return fault.Newf(fault.Invalid, "invalid", "%s may have at most %d bytes.", field, maxObject).With(field, "too_large", "This is too large.")
	}
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return fault.Newf(fault.Invalid, "invalid", "%s must be an object.", field).With(field, "type", "must be an object")
	}
	return nil
}
