package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/account"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/wire"
)

// Location is where people let their own agents know that they are (bridge 3.5;
// /api/me/location is ours).
type Location struct {
	Identity *flow.Identity
	Log      *slog.Logger
}

// Mount mounts the routes.
func (l Location) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(l.Log, f) }
	r.Get("/owner/location", h(l.ofOwner))
	r.Put("/me/location", h(l.share))
	r.Delete("/me/location", h(l.hide))
}

func place(l account.Location) wire.OwnerLocation {
	return wire.OwnerLocation{Location: wire.Location{Latitude: l.Latitude, Longitude: l.Longitude, Accuracy: l.Accuracy, Timestamp: wire.At(l.Timestamp)}}
}

// ofOwner answers 404 while the owner shares no location: bridges take that for "none".
func (l Location) ofOwner(w http.ResponseWriter, r *http.Request) error {
	at, err := l.Identity.OwnerLocation(r.Context(), httpx.Actor(r.Context()))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, place(at))
}

func (l Location) share(w http.ResponseWriter, r *http.Request) error {
	var in wire.LocationShare
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	if in.Latitude == nil || in.Longitude == nil {
		return fault.New(fault.Invalid, "invalid", "A location has a latitude and a longitude.").With("latitude", "required", "degrees")
	}
	at, err := l.Identity.ShareLocation(r.Context(), httpx.Actor(r.Context()), account.Location{Latitude: *in.Latitude, Longitude: *in.Longitude, Accuracy: in.Accuracy})
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, place(at))
}

func (l Location) hide(w http.ResponseWriter, r *http.Request) error {
	if err := l.Identity.HideLocation(r.Context(), httpx.Actor(r.Context())); err != nil {
		return err
	}
	return httpx.NoContent(w)
}
