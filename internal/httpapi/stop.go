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

// Stop ends what agents do in a room (desktop 3.6; agentId is ours).
type Stop struct {
	Gateway *flow.Gateway
	Log     *slog.Logger
}

// Mount mounts the route.
func (s Stop) Mount(r chi.Router) {
	r.Post("/conversations/{conversation}/stop-agents", httpx.Wrap(s.Log, s.stop))
}

func (s Stop) stop(w http.ResponseWriter, r *http.Request) error {
	conv, err := roomID(r)
	if err != nil {
		return err
	}
	var in wire.StopAgentsRequest
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	last, err := optionalMessage("lastMessageId", in.LastMessageID)
	if err != nil {
		last = nil // a client's own placeholder says nothing about what it saw
	}
	var agent id.Participant
	if in.AgentID != nil && *in.AgentID != "" {
		if agent, err = id.Parse[id.Participant](*in.AgentID); err != nil {
			return fault.New(fault.Invalid, "invalid", "agentId is not an id.").With("agentId", "format", err.Error())
		}
	}
	n, stale, err := s.Gateway.StopAgents(r.Context(), httpx.Actor(r.Context()), conv, agent, last)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.StopAgents{Stopped: n, Stale: stale})
}
