package httpapi

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/agent"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/participant"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// Agent is the life cycle and configuration of agents (desktop 4.10), and what an
// agent may change of itself (bridge 3.5).
type Agent struct {
	Identity *flow.Identity
	Online   func(id.Participant) bool // from the executor registry
	// NoExternal refuses agents of runtime external.
	NoExternal bool
	Log        *slog.Logger
}

// Mount mounts the routes; literal segments come before {agent}.
func (a Agent) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(a.Log, f) }
	r.Get("/agents", h(a.list))
	r.Post("/agents", h(a.create))
	r.Patch("/agents/me/model-config", h(a.ownModelConfig))
	r.Get("/agents/me/settings", h(a.ownSettings))
	r.Patch("/agents/me/settings", h(a.setOwnSettings))
	r.Post("/agents/me/capabilities", h(a.ownCapabilities))
	r.Get("/agents/me/soul", h(a.ownSoul))
	r.Patch("/agents/me/soul", h(a.setOwnSoul))
	r.Get("/agents/me/soul/template", h(a.soulTemplate))
	r.Get("/agents/me/trust", h(a.trust))
	r.Get("/agents/{agent}", h(a.get))
	r.Patch("/agents/{agent}", h(a.patch))
	r.Delete("/agents/{agent}", h(a.remove))
	r.Post("/agents/{agent}/delete-permanent", h(a.removeByName))
	r.Post("/agents/{agent}/regenerate-key", h(a.regenerateKey))
	r.Patch("/agents/{agent}/model-config", h(a.modelConfig))
	r.Patch("/agents/{agent}/soul", h(a.soul))
	r.Get("/agents/{agent}/soul/history", h(a.soulHistory))
	r.Post("/agents/{agent}/soul/revert", h(a.revertSoul))
}

func agentID(r *http.Request) (id.Participant, error) {
	return pathID[id.Participant](r, "agent")
}

func (a Agent) present(v view.Agent, mine bool) wire.Agent {
	return present.Agent(v, a.Online(v.ID), mine)
}

func (a Agent) list(w http.ResponseWriter, r *http.Request) error {
	list, err := a.Identity.Agents(r.Context(), httpx.Actor(r.Context()), r.URL.Query().Get("scope") == "all")
	if err != nil {
		return err
	}
	out := wire.Agents{Agents: []wire.Agent{}}
	for _, v := range list {
		out.Agents = append(out.Agents, a.present(v, true))
	}
	return httpx.JSON(w, http.StatusOK, out)
}

func (a Agent) create(w http.ResponseWriter, r *http.Request) error {
	var in wire.AgentCreate
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	var tool *string
	switch in.Runtime {
	case "", "local":
	case "external":
		if a.NoExternal {
			return flow.ErrExternalOff
		}
		t, err := flow.ExternalTool(in.ExternalTool)
		if err != nil {
			return err
		}
		tool = &t
	case "org_host":
		return fault.New(fault.Invalid, "runtime_unavailable", "This server has no hosts of workspaces.").With("runtime", "unavailable", "Use local or external.")
	default:
		return fault.New(fault.Invalid, "invalid", "This runtime is not known.").With("runtime", "unknown", "Use local or external.")
	}
	orgs, err := organizations(in.OrganizationIDs)
	if err != nil {
		return err
	}
	v, key, err := a.Identity.CreateAgent(r.Context(), httpx.Actor(r.Context()), flow.NewAgent{
		DisplayName: in.DisplayName, Description: in.Description, AgentType: in.AgentType, Capabilities: in.Capabilities, AvatarURL: in.AvatarURL,
		ModelConfig: in.ModelConfig, Metadata: in.Metadata, SoulMD: soulOf(in), OrganizationIDs: orgs, Runtime: in.Runtime, ExternalTool: tool,
	})
	if err != nil {
		return err
	}
	out := a.present(v, true)
	out.APIKey = key
	return httpx.JSON(w, http.StatusCreated, out)
}

// soulOf writes the first soul of an agent from the persona of the creation form.
func soulOf(in wire.AgentCreate) string {
	if in.SoulMD != "" || in.Persona == nil {
		return in.SoulMD
	}
	var b strings.Builder
	section := func(title, text string) {
		if text = strings.TrimSpace(text); text != "" {
			b.WriteString("## " + title + "\n\n" + text + "\n\n")
		}
	}
	p := in.Persona
	section("Who I am", p.Description)
	if p.CustomTone != nil && *p.CustomTone != "" {
		section("Tone", *p.CustomTone)
	} else if p.Tone != nil {
		section("Tone", *p.Tone)
	}
	if len(p.Specialties) > 0 {
		section("What I am good at", "- "+strings.Join(p.Specialties, "\n- "))
	}
	section("How I work", p.Instructions)
	return strings.TrimSpace(b.String())
}

func organizations(ids []string) ([]id.Organization, error) {
	if ids == nil {
		return nil, nil
	}
	out := make([]id.Organization, 0, len(ids))
	for _, s := range ids {
		o, err := id.Parse[id.Organization](s)
		if err != nil {
			return nil, fault.New(fault.Invalid, "invalid", "This workspace is not known.").With("organizationIds", "invalid", "not a workspace id")
		}
		out = append(out, o)
	}
	return out, nil
}

func (a Agent) get(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	v, mine, err := a.Identity.Agent(r.Context(), httpx.Actor(r.Context()), aid)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, a.present(v, mine))
}

func (a Agent) patch(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	var in struct {
		DisplayName     *string         `json:"displayName"`
		Description     *string         `json:"description"`
		AvatarURL       json.RawMessage `json:"avatarUrl"`
		AgentType       *string         `json:"agentType"`
		Status          *string         `json:"status"`
		Capabilities    *[]string       `json:"capabilities"`
		Metadata        json.RawMessage `json:"metadata"`
		Settings        json.RawMessage `json:"settings"`
		ModelConfig     json.RawMessage `json:"modelConfig"`
		SoulMD          *string         `json:"soulMd"`
		OrganizationIDs json.RawMessage `json:"organizationIds"`
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	p := flow.AgentPatch{DisplayName: in.DisplayName, Status: in.Status, Patch: agent.Patch{
		Description: in.Description, AgentType: in.AgentType, Capabilities: in.Capabilities, Metadata: in.Metadata, Settings: in.Settings, ModelConfig: in.ModelConfig, SoulMD: in.SoulMD,
	}}
	if p.AvatarURL, err = nullable(in.AvatarURL, "avatarUrl"); err != nil {
		return err
	}
	if len(in.OrganizationIDs) > 0 {
		var ids []string
		if json.Unmarshal(in.OrganizationIDs, &ids) != nil {
			return fault.New(fault.Invalid, "invalid", "A field has the wrong type.").With("organizationIds", "type", "must be a list of ids or null")
		}
		p.SetPins = true
		if p.OrganizationIDs, err = organizations(ids); err != nil {
			return err
		}
	}
	return a.edit(w, r, aid, false, p)
}

func (a Agent) edit(w http.ResponseWriter, r *http.Request, aid id.Participant, own bool, p flow.AgentPatch) error {
	v, err := a.Identity.EditAgent(r.Context(), httpx.Actor(r.Context()), aid, own, p)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, a.present(v, true))
}

// remove is the soft delete (desktop 4.10).
func (a Agent) remove(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	if err := a.Identity.DeleteAgent(r.Context(), httpx.Actor(r.Context()), aid); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.Notice{Message: "deleted"})
}

func (a Agent) removeByName(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	var in struct {
		ConfirmName string `json:"confirmName"`
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	if err := a.Identity.DeleteAgentByName(r.Context(), httpx.Actor(r.Context()), aid, in.ConfirmName); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.Notice{Message: "deleted"})
}

func (a Agent) regenerateKey(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	v, key, err := a.Identity.RegenerateKey(r.Context(), httpx.Actor(r.Context()), aid)
	if err != nil {
		return err
	}
	out := a.present(v, true)
	out.APIKey = key
	return httpx.JSON(w, http.StatusOK, out)
}

func (a Agent) modelConfig(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	return a.patchModel(w, r, aid, false)
}

func (a Agent) patchModel(w http.ResponseWriter, r *http.Request, aid id.Participant, own bool) error {
	var in struct {
		ModelConfig json.RawMessage `json:"model_config"`
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	return a.edit(w, r, aid, own, flow.AgentPatch{Patch: agent.Patch{ModelConfig: in.ModelConfig}})
}

func (a Agent) soul(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	return a.patchSoul(w, r, aid, false)
}

func (a Agent) patchSoul(w http.ResponseWriter, r *http.Request, aid id.Participant, own bool) error {
	var in struct {
		SoulMD *string `json:"soul_md"` // absent stays
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	return a.edit(w, r, aid, own, flow.AgentPatch{Patch: agent.Patch{SoulMD: in.SoulMD}})
}

func (a Agent) ownModelConfig(w http.ResponseWriter, r *http.Request) error {
	actor := httpx.Actor(r.Context())
	if err := access.RequireAgent(actor); err != nil {
		return err
	}
	return a.patchModel(w, r, actor.ID, true)
}

func (a Agent) self(r *http.Request) (view.Agent, error) {
	actor := httpx.Actor(r.Context())
	if err := access.RequireAgent(actor); err != nil {
		return view.Agent{}, err
	}
	v, _, err := a.Identity.Agent(r.Context(), actor, actor.ID)
	return v, err
}

func (a Agent) ownSettings(w http.ResponseWriter, r *http.Request) error {
	v, err := a.self(r)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, map[string]any{"settings": v.Settings})
}

func (a Agent) setOwnSettings(w http.ResponseWriter, r *http.Request) error {
	v, err := a.self(r)
	if err != nil {
		return err
	}
	var in struct {
		Settings map[string]int `json:"settings"`
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	raw, err := json.Marshal(in.Settings)
	if err != nil {
		return err
	}
	v, err = a.Identity.EditAgent(r.Context(), httpx.Actor(r.Context()), v.ID, true, flow.AgentPatch{Patch: agent.Patch{Settings: raw}})
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, map[string]any{"settings": v.Settings})
}

func (a Agent) ownCapabilities(w http.ResponseWriter, r *http.Request) error {
	v, err := a.self(r)
	if err != nil {
		return err
	}
	var in struct {
		StructuredCapabilities json.RawMessage `json:"structured_capabilities"`
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	return a.edit(w, r, v.ID, true, flow.AgentPatch{Patch: agent.Patch{StructuredCapabilities: in.StructuredCapabilities}})
}

func (a Agent) ownSoul(w http.ResponseWriter, r *http.Request) error {
	v, err := a.self(r)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, map[string]any{"soulMd": v.SoulMD})
}

func (a Agent) setOwnSoul(w http.ResponseWriter, r *http.Request) error {
	v, err := a.self(r)
	if err != nil {
		return err
	}
	return a.patchSoul(w, r, v.ID, true)
}

func (a Agent) soulTemplate(w http.ResponseWriter, r *http.Request) error {
	if _, err := a.self(r); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, map[string]any{"template": flow.SoulTemplate})
}

// OwnView is the agent's own /api/me without tools; the caller adds them.
func (a Agent) OwnView(r *http.Request) (wire.Agent, error) {
	v, err := a.self(r)
	if err != nil {
		return wire.Agent{}, err
	}
	out := a.present(v, true)
	out.KeyPrefix = ""
	if v.Status != participant.Active {
		return wire.Agent{}, fault.ErrUnauthenticated
	}
	return out, nil
}
