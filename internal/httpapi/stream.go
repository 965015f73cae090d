package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/wire"
)

// Stream takes the frames of turns in progress (bridge 3.3; queue_id and
// generation are ours, docs/protocol.md 4).
type Stream struct {
	Chat *flow.Chat
	Log  *slog.Logger
}

// Mount mounts the route.
func (s Stream) Mount(r chi.Router) {
	r.Post("/conversations/{conversation}/stream", httpx.Wrap(s.Log, s.post))
}

func (s Stream) post(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	var in wire.StreamPost
	if err := httpx.DecodeLimit(w, r, &in, maxMessageBody); err != nil {
		return err
	}
	f := flow.StreamFrame{
		StreamID: in.StreamID, Status: in.Status, Phase: in.Phase, PhaseDetail: in.PhaseDetail, Content: in.Content, Generation: in.Generation,
	}
	if in.QueueID != nil && *in.QueueID != "" {
		q, err := id.Parse[id.QueueItem](*in.QueueID)
		if err != nil {
			return fault.New(fault.Invalid, "invalid", "queue_id is not an id.").With("queue_id", "format", err.Error())
		}
		f.QueueID = &q
	}
	if err := s.Chat.Stream(r.Context(), httpx.Actor(r.Context()), conv, f); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.OK{OK: true})
}
