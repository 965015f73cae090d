package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// People finds people to talk with (desktop 4.26).
type People struct {
	Identity *flow.Identity
	Online   present.Online
	Log      *slog.Logger
}

// Mount mounts the route.
func (p People) Mount(r chi.Router) { r.Get("/people/search", httpx.Wrap(p.Log, p.search)) }

func (p People) search(w http.ResponseWriter, r *http.Request) error {
	found, err := p.Identity.FindPeople(r.Context(), httpx.Actor(r.Context()), r.URL.Query().Get("q"))
	if err != nil {
		return err
	}
	out := wire.People{People: []wire.Participant{}}
	for _, f := range found {
		out.People = append(out.People, present.FoundPerson(f, p.Online))
	}
	return httpx.JSON(w, http.StatusOK, out)
}
