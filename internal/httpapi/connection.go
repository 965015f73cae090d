package httpapi

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/connection"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// Connection is the outside services of a person's agents (docs/tools.md).
type Connection struct {
	Connections *flow.Connections
	Log         *slog.Logger
}

// Mount mounts the routes.
func (c Connection) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(c.Log, f) }
	r.Get("/me/apis", h(c.list))
	r.Post("/me/apis", h(c.create))
	r.Patch("/me/apis/{api}", h(c.edit))
	r.Delete("/me/apis/{api}", h(c.remove))
}

func apiID(r *http.Request) (id.Connection, error) {
	return pathID[id.Connection](r, "api")
}

func (c Connection) list(w http.ResponseWriter, r *http.Request) error {
	all, err := c.Connections.List(r.Context(), httpx.Actor(r.Context()))
	if err != nil {
		return err
	}
	out := wire.APIs{APIs: []wire.API{}}
	for _, v := range all {
		out.APIs = append(out.APIs, present.API(v))
	}
	return httpx.JSON(w, http.StatusOK, out)
}

func (c Connection) read(w http.ResponseWriter, r *http.Request) (flow.ConnectionEdit, error) {
	var in wire.APIEdit
	if err := httpx.Decode(w, r, &in); err != nil {
		return flow.ConnectionEdit{}, err
	}
	e := flow.ConnectionEdit{Name: in.Name, Description: in.Description, BaseURL: in.BaseURL, Shared: in.Shared, Enabled: in.Enabled}
	if in.Auth != nil {
		e.AuthKind, e.AuthName, e.Secret = in.Auth.Kind, in.Auth.Name, in.Auth.Secret
	}
	if in.Operations != nil {
		ops := make([]connection.Operation, len(*in.Operations))
		for n, o := range *in.Operations {
			ops[n] = connection.Operation{Method: strings.ToUpper(o.Method), Path: o.Path, Description: o.Description, Ask: o.Ask}
		}
		e.Operations = &ops
	}
	if in.AgentIDs != nil {
		agents := []id.Participant{}
		for _, s := range *in.AgentIDs {
			a, err := id.Parse[id.Participant](s)
			if err != nil {
				return e, fault.New(fault.Invalid, "invalid", "This service cannot be stored.").With("agentIds", "unknown", "Only your own agents can use this.")
			}
			agents = append(agents, a)
		}
		e.Agents = &agents
	}
	return e, nil
}

func (c Connection) answer(w http.ResponseWriter, status int, v connection.Connection, err error) error {
	if err != nil {
		return err
	}
	return httpx.JSON(w, status, wire.APIAnswer{API: present.API(v)})
}

func (c Connection) create(w http.ResponseWriter, r *http.Request) error {
	e, err := c.read(w, r)
	if err != nil {
		return err
	}
	v, err := c.Connections.Create(r.Context(), httpx.Actor(r.Context()), e)
	return c.answer(w, http.StatusCreated, v, err)
}

func (c Connection) edit(w http.ResponseWriter, r *http.Request) error {
	cid, err := apiID(r)
	if err != nil {
		return err
	}
	e, err := c.read(w, r)
	if err != nil {
		return err
	}
	v, err := c.Connections.Edit(r.Context(), httpx.Actor(r.Context()), cid, e)
	return c.answer(w, http.StatusOK, v, err)
}

func (c Connection) remove(w http.ResponseWriter, r *http.Request) error {
	cid, err := apiID(r)
	if err != nil {
		return err
	}
	if err := c.Connections.Delete(r.Context(), httpx.Actor(r.Context()), cid); err != nil {
		return err
	}
	return httpx.NoContent(w)
}
