package httpapi

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
)

// Turn shows finished turns and what became of messages (docs/protocol.md 6).
type Turn struct {
	Gateway *flow.Gateway
	Log     *slog.Logger
}

// Mount mounts the routes.
func (t Turn) Mount(r chi.Router) {
	r.Get("/agents/{agent}/turns", httpx.Wrap(t.Log, t.turns))
	r.Get("/conversations/{conversation}/receipts", httpx.Wrap(t.Log, t.receipts))
}

func (t Turn) turns(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	below, err := queryMark[id.Turn](r)
	if err != nil {
		return err
	}
	limit := httpx.Limit(r, 20, 100)
	list, err := t.Gateway.Turns(r.Context(), httpx.Actor(r.Context()), aid, below, limit+1)
	if err != nil {
		return err
	}
	more := len(list) > limit
	if more {
		list = list[:limit]
	}
	return httpx.JSON(w, http.StatusOK, present.Turns(list, more))
}

// receipts reads ?messageIds=a,b or repeated; without any those of the newest
// hundred messages.
func (t Turn) receipts(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	var ids []id.Message
	for _, list := range r.URL.Query()["messageIds"] {
		for s := range strings.SplitSeq(list, ",") {
			m, err := id.Parse[id.Message](strings.TrimSpace(s))
			if err != nil {
				return fault.New(fault.Invalid, "invalid", "messageIds must be message ids.").With("messageIds", "format", err.Error())
			}
			ids = append(ids, m)
		}
	}
	if len(ids) > 200 {
		return fault.New(fault.Invalid, "invalid", "At most 200 messages at once.").With("messageIds", "too_many", "at most 200")
	}
	list, err := t.Gateway.Receipts(r.Context(), httpx.Actor(r.Context()), conv, ids)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.Receipts(list))
}
