package httpapi

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/view"
	"github.com/agntchat/agntchat/internal/wire"
)

// LocalOffer is a model backend found on the server's machine.
type LocalOffer struct{ Backend, Label string }

// LocalSetup makes agents that run on the server's own machine: `dev` only.
type LocalSetup interface {
	Offers(ctx context.Context) []LocalOffer
	Demo() string
	Create(ctx context.Context, actor access.Actor, backend, name string) (view.Agent, error)
}

// Setup offers a first real agent in one click, to the administrator of a `dev`
// server; elsewhere its routes do not exist.
type Setup struct {
	Local LocalSetup // nil in serve
	Log   *slog.Logger
}

// Mount mounts the routes.
func (s Setup) Mount(r chi.Router) {
	if s.Local == nil {
		return
	}
	r.Get("/setup/local", httpx.Wrap(s.Log, s.get))
	r.Post("/setup/local", httpx.Wrap(s.Log, s.create))
}

func allowed(r *http.Request) error {
	if a := httpx.Actor(r.Context()); !a.IsPerson() || !a.PlatformAdmin {
		return fault.ErrNotFound // whoever may not use this machine does not learn what is on it
	}
	return nil
}

func (s Setup) get(w http.ResponseWriter, r *http.Request) error {
	if err := allowed(r); err != nil {
		return err
	}
	out := wire.SetupLocal{Offers: []wire.SetupOffer{}}
	if d := s.Local.Demo(); d != "" {
		out.DemoAgentID = &d
	}
	for _, o := range s.Local.Offers(r.Context()) {
		out.Offers = append(out.Offers, wire.SetupOffer{Backend: o.Backend, Label: o.Label, Ready: true})
	}
	return httpx.JSON(w, http.StatusOK, out)
}

func (s Setup) create(w http.ResponseWriter, r *http.Request) error {
	if err := allowed(r); err != nil {
		return err
	}
	var in wire.SetupLocalRequest
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	a, err := s.Local.Create(r.Context(), httpx.Actor(r.Context()), in.Backend, in.DisplayName)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusCreated, present.Agent(a, false, true))
}
