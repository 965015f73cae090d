package httpapi

import (
	"cmp"
	"encoding/json"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/executor"
	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/turn"
	"github.com/agntchat/agntchat/internal/wire"
)

// Gateway is the bridges' side: executors and claimed messages (bridge 3.2;
// docs/protocol.md 3, 4).
type Gateway struct {
	Gateway *flow.Gateway
	Log     *slog.Logger
}

// Mount mounts the routes.
func (g Gateway) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(g.Log, f) }
	r.Post("/gateway/warmup", h(g.warmup))
	r.Post("/gateway/executors", h(g.register))
	r.Post("/gateway/executors/{executor}/heartbeat", h(g.heartbeat))
	r.Delete("/gateway/executors/{executor}", h(g.deregister))
	r.Post("/gateway/messages/batch-ack", h(g.ackAll))
	r.Post("/gateway/messages/{item}/ack", h(g.ack))
	r.Post("/gateway/messages/{item}/complete", h(g.complete))
	r.Post("/gateway/messages/{item}/release", h(g.release))
}

func executorID(r *http.Request) (id.Executor, error) {
	ex, err := id.Parse[id.Executor](chi.URLParam(r, "executor"))
	if err != nil {
		return id.Executor{}, executor.ErrUnknown
	}
	return ex, nil
}

func (g Gateway) register(w http.ResponseWriter, r *http.Request) error {
	var in wire.ExecutorRegister
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	var meta wire.ExecutorMetadata
	if len(in.Metadata) > 0 {
		_ = json.Unmarshal(in.Metadata, &meta) // foreign metadata may have any shape: what does not fit is not read
	}
	reg := executor.Registration{
		Key: in.ExecutorKey, DisplayName: in.DisplayName, Capabilities: in.Capabilities, ConnectionType: in.ConnectionType, MaxConcurrent: in.MaxConcurrent,
		InstanceID: in.InstanceID, BridgeVersion: meta.BridgeVersion, Ours: meta.Client == "agnt" && meta.Protocol == 1, Metadata: in.Metadata,
		BackendHealth: healthJSON(&in.BackendHealth), Resumable: in.ResumableTaskIDs,
	}
	if meta.DeviceName != "" {
		reg.DeviceName = &meta.DeviceName
	}
	e, err := g.Gateway.RegisterExecutor(r.Context(), httpx.Actor(r.Context()), reg)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.Executor(e, g.Gateway.LeaseSeconds()))
}

// healthJSON is what a bridge says of its model seat, as it is stored; nil when it
// says nothing.
func healthJSON(h *wire.BackendHealth) json.RawMessage {
	if h == nil || h.Status == "" {
		return nil
	}
	raw, err := json.Marshal(h)
	if err != nil { // a number that JSON cannot carry: as good as nothing said
		return nil
	}
	return raw
}

func (g Gateway) heartbeat(w http.ResponseWriter, r *http.Request) error {
	ex, err := executorID(r)
	if err != nil {
		return err
	}
	var in wire.Heartbeat
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	var metrics wire.HeartbeatMetrics
	if len(in.Metrics) > 0 {
		_ = json.Unmarshal(in.Metrics, &metrics) // as above
	}
	if len(in.Claims) > 1000 {
		return fault.New(fault.Invalid, "invalid", "At most 1000 claims in one heartbeat.").With("claims", "too_many", "at most 1000")
	}
	beat := flow.Beat{
		Beat:     executor.Beat{BridgeVersion: in.BridgeVersion, BackendHealth: healthJSON(in.BackendHealth), Metrics: in.Metrics},
		Activity: metrics.CurrentActivity,
	}
	for _, c := range in.Claims {
		beat.Claims = append(beat.Claims, flow.NamedTurn{QueueID: c.ID, Generation: c.Generation})
	}
	out, err := g.Gateway.Heartbeat(r.Context(), httpx.Actor(r.Context()), ex, beat)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.HeartbeatAnswer(out))
}

func (g Gateway) deregister(w http.ResponseWriter, r *http.Request) error {
	ex, err := executorID(r)
	if err != nil {
		return err
	}
	superseded, err := g.Gateway.Deregister(r.Context(), httpx.Actor(r.Context()), ex, r.URL.Query().Get("instance_id"))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.Deregistered{Superseded: superseded})
}

// held reads which claim a call is about.
func held(r *http.Request, ex string, generation *int64) (flow.HeldClaim, error) {
	q, err := id.Parse[id.QueueItem](cmp.Or(chi.URLParam(r, "item"), chi.URLParam(r, "row")))
	if err != nil {
		return flow.HeldClaim{}, fault.ErrNotFound
	}
	e, err := bodyExecutor(ex)
	return flow.HeldClaim{QueueID: q, ExecutorID: e, Generation: generation}, err
}

func bodyExecutor(s string) (id.Executor, error) {
	e, err := id.Parse[id.Executor](s)
	if err != nil {
		return e, fault.New(fault.Invalid, "invalid", "executor_id is missing or not an id.").With("executor_id", "required", "the id that the registration answered")
	}
	return e, nil
}

func (g Gateway) ack(w http.ResponseWriter, r *http.Request) error {
	var in wire.Ack
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	c, err := held(r, in.ExecutorID, in.Generation)
	if err != nil {
		return err
	}
	outcome, err := g.Gateway.Ack(r.Context(), httpx.Actor(r.Context()), c)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.Acked{Status: "acknowledged", Outcome: string(outcome)})
}

func (g Gateway) ackAll(w http.ResponseWriter, r *http.Request) error {
	var in wire.BatchAck
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	ex, err := bodyExecutor(in.ExecutorID)
	if err != nil {
		return err
	}
	items, err := g.Gateway.AckAll(r.Context(), httpx.Actor(r.Context()), ex, in.IDs)
	if err != nil {
		return err
	}
	out := wire.BatchAcked{Results: make([]wire.BatchAckResult, len(items))}
	for n, i := range items {
		out.Results[n] = wire.BatchAckResult{ID: i.QueueID, Status: "ok"}
		if i.Err != nil {
			out.Results[n].Status, out.Results[n].Error = "error", fault.From(i.Err).Code
			continue
		}
		out.Count++
	}
	return httpx.JSON(w, http.StatusOK, out)
}

func (g Gateway) release(w http.ResponseWriter, r *http.Request) error {
	var in wire.TurnRelease
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	c, err := held(r, in.ExecutorID, &in.Generation)
	if err != nil {
		return err
	}
	if err := g.Gateway.Release(r.Context(), httpx.Actor(r.Context()), c); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.Acked{Status: "released"})
}

// complete answers 200 with the reply, 409 for a stale draft, 403
// executor_not_owned for a lost claim.
func (g Gateway) complete(w http.ResponseWriter, r *http.Request) error {
	var in wire.TurnComplete
	if err := httpx.DecodeLimit(w, r, &in, maxMessageBody); err != nil {
		return err
	}
	c := flow.Completion{Outcome: turn.Outcome(in.Outcome)}
	var err error
	if c.HeldClaim, err = held(r, in.ExecutorID, &in.Generation); err != nil {
		return err
	}
	if in.Reply != nil {
		p := in.Reply
		c.Reply = &flow.Post{Content: p.Content, ContentType: p.ContentType, MessageType: p.MessageType, ContentStructured: p.ContentStructured, Metadata: p.Metadata}
		if c.Reply.LastSeenMessageID, err = optionalMessage("reply.last_seen_message_id", p.LastSeenMessageID); err != nil {
			return err
		}
	}
	if in.Error != nil {
		c.ErrorCode, c.ErrorMessage = in.Error.Code, in.Error.Message
	}
	if u := in.Usage; u != nil {
		c.Usage, c.Tokens = true, tokens(*u)
	}
	if t := in.Turn; t != nil {
		c.Model, c.Backend, c.DurationMS, c.ToolCalls, c.Iterations = t.Model, t.Backend, t.DurationMS, t.ToolCalls, t.Iterations
	}
	for _, u := range in.ToolUses {
		c.ToolNames = append(c.ToolNames, u.Name)
	}
	out, err := g.Gateway.Complete(r.Context(), httpx.Actor(r.Context()), c)
	if err != nil {
		return withBody(err)
	}
	answer := wire.TurnCompleted{Status: "completed", Outcome: string(out.Outcome)}
	if out.Message != nil {
		answer.Message = new(present.Message(*out.Message))
	}
	return httpx.JSON(w, http.StatusOK, answer)
}

func tokens(u wire.TokenUsage) turn.Tokens {
	return turn.Tokens{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens}
}

// warmup is for bridges up to 2.11.15 (bridge 3.2).
func (g Gateway) warmup(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Limit int `json:"limit"`
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	list, err := g.Gateway.Warm(r.Context(), httpx.Actor(r.Context()), in.Limit)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.WarmRooms(list))
}
