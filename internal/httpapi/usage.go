package httpapi

import (
	"log/slog"
	"net/http"
	"strconv"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/present"
)

// Usage is what agents' model calls took (docs/tools.md).
type Usage struct {
	Gateway *flow.Gateway
	Log     *slog.Logger
}

// Mount mounts the route.
func (u Usage) Mount(r chi.Router) { r.Get("/agents/{agent}/usage", httpx.Wrap(u.Log, u.get)) }

func (u Usage) get(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	days, err := strconv.Atoi(r.URL.Query().Get("days"))
	if err != nil || days < 1 || days > 365 {
		days = 30
	}
	out, err := u.Gateway.UsageOf(r.Context(), httpx.Actor(r.Context()), aid, days)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.Usage(out, days))
}
