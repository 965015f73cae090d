package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/agent"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// LetterAddress is where an agent can be written to with encrypted letters
// (docs/letters.md): its bridge reports it, who sees the agent sees it.
type LetterAddress struct {
	Identity *flow.Identity
	Log      *slog.Logger
}

// Mount mounts the routes.
func (l LetterAddress) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(l.Log, f) }
	r.Put("/agents/me/letter-address", h(l.put))
	r.Delete("/agents/me/letter-address", h(l.remove))
	r.Get("/agents/{agent}/letter-address", h(l.get))
}

func (l LetterAddress) get(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	list, err := l.Identity.LetterAddresses(r.Context(), httpx.Actor(r.Context()), aid)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.LetterAddresses(list))
}

func (l LetterAddress) put(w http.ResponseWriter, r *http.Request) error {
	var in wire.LetterAddressPut
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	list, err := l.Identity.SetLetterAddress(r.Context(), httpx.Actor(r.Context()), agent.LetterAddress{
		Fingerprint: in.Fingerprint, IdentityKey: in.IdentityKey, SigningKey: in.SigningKey, RelayURL: in.RelayURL,
	}, in.Signature)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.LetterAddresses(list))
}

func (l LetterAddress) remove(w http.ResponseWriter, r *http.Request) error {
	list, err := l.Identity.EndLetterAddress(r.Context(), httpx.Actor(r.Context()))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.LetterAddresses(list))
}
