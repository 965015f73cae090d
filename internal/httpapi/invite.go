package httpapi

import (
	"errors"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// Invite is the right to become an agent (bridge 1.5, desktop 4.13).
type Invite struct {
	External  *flow.External
	PublicURL string
	Log       *slog.Logger
}

// MountOpen mounts what whoever has a code may do.
func (i Invite) MountOpen(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(i.Log, f) }
	r.Get("/invites/{inviteCode}/info", h(i.info))
	r.Post("/invites/{inviteCode}/claim", h(i.claim))
}

// Mount mounts what its creator may do.
func (i Invite) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(i.Log, f) }
	r.Get("/invites", h(i.list))
	r.Post("/invites", h(i.create))
	r.Delete("/invites/{invite}", h(i.revoke))
}

// bodyError is an exception to the general error form (docs/http.md).
type bodyError struct {
	error
	status int
	body   any
}

// Body implements httpx.BodyError.
func (e bodyError) Body() (int, any) { return e.status, e.body }

// inviteError gives the statuses that programs read: 410, and 404 with its own body.
func inviteError(err error) error {
	switch {
	case errors.Is(err, flow.ErrInviteOver):
		f := fault.From(err)
		return bodyError{err, http.StatusGone, wire.ErrorBody{Error: wire.ErrorDetail{Code: f.Code, Message: f.Message}}}
	case errors.Is(err, flow.ErrExternalOff):
		return bodyError{err, http.StatusNotFound, wire.ExternalDisabled{Error: "external_agents_disabled"}}
	}
	return err
}

func (i Invite) info(w http.ResponseWriter, r *http.Request) error {
	inv, creator, err := i.External.InviteInfo(r.Context(), chi.URLParam(r, "inviteCode"), Address(r))
	if err != nil {
		return inviteError(err)
	}
	return httpx.JSON(w, http.StatusOK, present.InviteInfo(inv, creator))
}

// claim answers 201 exactly.
func (i Invite) claim(w http.ResponseWriter, r *http.Request) error {
	var in wire.InviteClaim
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	switch in.Runtime {
	case "", "local", "external":
	default:
		return fault.New(fault.Invalid, "invalid", "This runtime is not known.").With("runtime", "unknown", "Use local or external.")
	}
	out, err := i.External.ClaimInvite(r.Context(), chi.URLParam(r, "inviteCode"), Address(r), flow.ClaimInvite{
		External: in.Runtime == "external", Tool: in.ExternalTool, ExecutorKey: in.ExecutorKey, ExecutorName: in.ExecutorDisplayName, ExecutorCapabilities: in.ExecutorCapabilities,
	})
	if err != nil {
		return inviteError(err)
	}
	return httpx.JSON(w, http.StatusCreated, present.InviteClaimed(out, i.PublicURL))
}

func (i Invite) list(w http.ResponseWriter, r *http.Request) error {
	list, err := i.External.Invites(r.Context(), httpx.Actor(r.Context()))
	if err != nil {
		return err
	}
	out := wire.Invites{Invites: make([]wire.Invite, len(list))}
	for n, inv := range list {
		out.Invites[n] = present.Invite(inv, "")
	}
	return httpx.JSON(w, http.StatusOK, out)
}

func (i Invite) create(w http.ResponseWriter, r *http.Request) error {
	var in wire.InviteCreate
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	n := flow.NewAgentInvite{DisplayName: in.DisplayName, Description: in.Description, Capabilities: in.Capabilities, Hours: in.TTLHours, Uses: in.MaxUses}
	var err error
	if n.AgentID, err = optional("agentId", in.AgentID, id.Parse[id.Participant]); err != nil {
		return err
	}
	inv, code, err := i.External.Invite(r.Context(), httpx.Actor(r.Context()), n)
	if err != nil {
		return inviteError(err)
	}
	return httpx.JSON(w, http.StatusCreated, present.Invite(inv, code))
}

func (i Invite) revoke(w http.ResponseWriter, r *http.Request) error {
	inv, err := pathID[id.Invite](r, "invite")
	if err != nil {
		return err
	}
	if err := i.External.RevokeInvite(r.Context(), httpx.Actor(r.Context()), inv); err != nil {
		return err
	}
	return httpx.NoContent(w)
}
