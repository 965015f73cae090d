package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/wire"
)

// AgentTelemetry is what bridges report about their model runs (bridge 3.6).
type AgentTelemetry struct {
	Gateway *flow.Gateway
	Log     *slog.Logger
}

// Mount mounts the routes.
func (t AgentTelemetry) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(t.Log, f) }
	r.Post("/usage", h(t.usage))
	r.Post("/agents/me/cli-tool-uses", h(t.toolUses))
	r.Post("/agents/me/runtime-faults", h(t.fault))
	r.Post("/agents/heartbeat", h(t.heartbeat))
}

func (t AgentTelemetry) usage(w http.ResponseWriter, r *http.Request) error {
	var in wire.UsageReport
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	u := turn.Usage{Model: in.Model, Tokens: tokens(in.Usage), Turn: in.Turn}
	if err := t.Gateway.ReportUsage(r.Context(), httpx.Actor(r.Context()), u); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.OK{OK: true})
}

func (t AgentTelemetry) toolUses(w http.ResponseWriter, r *http.Request) error {
	var in wire.CLIToolUses
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	u := flow.ToolUses{ConversationID: reportedRoom(in.ConversationID)}
	for _, n := range in.ToolUses {
		u.Names = append(u.Names, n.Name)
	}
	if err := t.Gateway.ReportToolUses(r.Context(), httpx.Actor(r.Context()), u); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.OK{OK: true})
}

func (t AgentTelemetry) fault(w http.ResponseWriter, r *http.Request) error {
	var in wire.RuntimeFaultReport
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	f := turn.Fault{
		Kind: in.Kind, ConversationID: reportedRoom(in.ConversationID), MessageID: reportedMessage(in.MessageID),
		Detail: in.Detail, Meta: in.Meta,
	}
	if err := t.Gateway.ReportFault(r.Context(), httpx.Actor(r.Context()), f); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.OK{OK: true})
}

// heartbeat is the SDK's optional sign of life without an executor: nothing hangs on it.
func (t AgentTelemetry) heartbeat(w http.ResponseWriter, r *http.Request) error {
	if err := access.RequireAgent(httpx.Actor(r.Context())); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.OK{OK: true})
}

// reportedRoom reads an id of a report: one that is none is left out, for the
// report is worth more than its details.
func reportedRoom(s *string) id.Conversation {
	if s == nil {
		return id.Conversation{}
	}
	c, _ := id.Parse[id.Conversation](*s) // zero when it is none
	return c
}

func reportedMessage(s *string) id.Message {
	if s == nil {
		return id.Message{}
	}
	m, _ := id.Parse[id.Message](*s) // zero when it is none
	return m
}
