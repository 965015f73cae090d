package httpapi

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// Question is what models are asked beside turns (bridge 2.9, 2.10, 3.2).
type Question struct {
	Tasks *flow.Tasks
	Log   *slog.Logger
}

// Mount mounts the routes.
func (q Question) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(q.Log, f) }
	r.Post("/gateway/scope-requests", h(q.scope))
	r.Post("/gateway/scope-requests/collect", h(q.collect))
	r.Post("/gateway/scope-requests/{scope}/respond", h(q.respond))
	r.Post("/gateway/agent-queries/{query}/respond", h(q.answer))
	r.Post("/gateway/agent-queries/{query}/fail", h(q.fail))
	r.Post("/agents/{agent}/soul/revise", h(q.revise))
}

// executorRequiredError is 400 exactly (bridge 2.10).
type executorRequiredError struct{}

func (executorRequiredError) Error() string { return "executor_id_required" }

// Body implements httpx.BodyError.
func (executorRequiredError) Body() (int, any) {
	return http.StatusBadRequest, wire.ErrorBody{Error: wire.ErrorDetail{Code: "executor_id_required", Message: "Name the executor that the question was given to."}}
}

func (q Question) body(w http.ResponseWriter, r *http.Request) (qid id.Query, ex id.Executor, in wire.QueryAnswer, err error) {
	if qid, err = pathID[id.Query](r, "query"); err != nil {
		return qid, ex, in, err
	}
	if err = httpx.DecodeLimit(w, r, &in, maxMessageBody); err != nil {
		return qid, ex, in, err
	}
	if ex, err = id.Parse[id.Executor](in.ExecutorID); err != nil && httpx.Actor(r.Context()).IsAgent() {
		return qid, ex, in, executorRequiredError{}
	}
	return qid, ex, in, nil
}

func (q Question) answer(w http.ResponseWriter, r *http.Request) error {
	qid, ex, in, err := q.body(w, r)
	if err != nil {
		return err
	}
	if err := q.Tasks.AnswerQuery(r.Context(), httpx.Actor(r.Context()), qid, ex, in.Text, in.Model, in.Usage); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.OK{OK: true})
}

func (q Question) fail(w http.ResponseWriter, r *http.Request) error {
	qid, ex, in, err := q.body(w, r)
	if err != nil {
		return err
	}
	if err := q.Tasks.FailQuery(r.Context(), httpx.Actor(r.Context()), qid, ex, in.Error, in.Model); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.OK{OK: true})
}

func (q Question) scope(w http.ResponseWriter, r *http.Request) error {
	var in wire.ScopeCreate
	if err := httpx.DecodeLimit(w, r, &in, maxMessageBody); err != nil {
		return err
	}
	conv, err := id.Parse[id.Conversation](in.ConversationID)
	if err != nil {
		return fault.ErrNotFound
	}
	agent, err := id.Parse[id.Participant](in.AgentID)
	if err != nil {
		return fault.New(fault.Invalid, "invalid", "agent_id is missing or not an id.").With("agent_id", "required", "who is to word the task")
	}
	s, err := q.Tasks.ScopeRequest(r.Context(), httpx.Actor(r.Context()), agent, conv, in.Content, in.RequestContext)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusCreated, present.GatewayScope(s))
}

// collect waits at most the timeout, in seconds, a string or a number.
func (q Question) collect(w http.ResponseWriter, r *http.Request) error {
	var in wire.ScopeCollect
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	var ids []id.Scope
	for _, s := range in.ScopeRequestIDs {
		x, err := id.Parse[id.Scope](s)
		if err != nil {
			return fault.ErrNotFound
		}
		ids = append(ids, x)
	}
	list, err := q.Tasks.CollectScopes(r.Context(), httpx.Actor(r.Context()), ids, seconds(in.Timeout))
	if err != nil {
		return err
	}
	out := wire.ScopeResponses{Responses: map[string]wire.ScopeResponse{}}
	for _, s := range list {
		if s.Status == "responded" && s.Title != nil {
			one := wire.ScopeResponse{ID: s.ID.String(), Title: *s.Title, ScopeMessage: s.ScopeMessage}
			if s.Description != nil {
				one.Description = *s.Description
			}
			out.Responses[s.AgentID.String()] = one
		}
	}
	return httpx.JSON(w, http.StatusOK, out)
}

func seconds(raw json.RawMessage) time.Duration {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		s = string(raw)
	}
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || n < 0 || n > 3600 {
		return 0
	}
	return time.Duration(n * float64(time.Second))
}

func (q Question) respond(w http.ResponseWriter, r *http.Request) error {
	sid, err := pathID[id.Scope](r, "scope")
	if err != nil {
		return err
	}
	var in wire.ScopeRespond
	if err := httpx.DecodeLimit(w, r, &in, maxMessageBody); err != nil {
		return err
	}
	if err := q.Tasks.RespondScope(r.Context(), httpx.Actor(r.Context()), sid, in.Title, in.Description, in.ScopeMessage); err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.OK{OK: true})
}

// revise answers a proposal; 409 agent_offline or agent_timeout (desktop 4.10).
func (q Question) revise(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	var in wire.SoulRevise
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	text, err := q.Tasks.ReviseSoul(r.Context(), httpx.Actor(r.Context()), aid, in.Instruction)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, wire.SoulProposal{SoulMD: text})
}
