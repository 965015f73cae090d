package httpapi

import (
	"log/slog"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// Bounds of a page of changes.
const (
	defaultChanges = 200
	maxChanges     = 500
)

// Change heals gaps in the events of a room (docs/protocol.md 5).
type Change struct {
	Chat   *flow.Chat
	Online present.Online
	Log    *slog.Logger
}

// Mount mounts the route.
func (c Change) Mount(r chi.Router) {
	r.Get("/conversations/{conversation}/changes", httpx.Wrap(c.Log, c.list))
}

func (c Change) list(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	after, err := strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
	if err != nil {
		return fault.New(fault.Invalid, "invalid", "after must be a sequence number.").With("after", "format", "must be a whole number")
	}
	got, err := c.Chat.Changes(r.Context(), httpx.Actor(r.Context()), conv, after, httpx.Limit(r, defaultChanges, maxChanges))
	if err != nil {
		return err
	}
	out := wire.Changes{Changes: []wire.Change{}, Seq: got.Seq, Reset: got.Reset}
	for _, ch := range got.Changes {
		shown, err := present.Change(conv, ch, got.Messages, got.Members, c.Online)
		if err != nil {
			return err
		}
		out.Changes = append(out.Changes, shown)
	}
	return httpx.JSON(w, http.StatusOK, out)
}
