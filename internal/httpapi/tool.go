package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// Tool carries out tool calls that a bridge passes through (bridge 3.8, 5.5), and is
// where owners choose the tools of their agents (desktop 4.16).
type Tool struct {
	Tools *flow.Tools
	Log   *slog.Logger
}

// Mount mounts the routes.
func (t Tool) Mount(r chi.Router) {
	h := func(f httpx.HandlerFunc) http.HandlerFunc { return httpx.Wrap(t.Log, f) }
	r.Post("/mcp/call", h(t.call))
	r.Post("/agents/me/local-tool-calls", h(t.noteLocal))
	r.Get("/tools", h(t.all))
	r.Get("/agents/{agent}/tools", h(t.ofAgent))
	r.Get("/agents/{agent}/tool-calls", h(t.calls))
	r.Post("/tools/{tool}/assign", h(t.assign))
	r.Delete("/tools/{tool}/assign/{agent}", h(t.takeAway))
}

func (t Tool) all(w http.ResponseWriter, r *http.Request) error {
	all, err := t.Tools.All(httpx.Actor(r.Context()))
	if err != nil {
		return err
	}
	out := wire.PlatformTools{Tools: make([]wire.PlatformTool, len(all))}
	for n, s := range all {
		out.Tools[n] = present.PlatformTool(s)
	}
	return httpx.JSON(w, http.StatusOK, out)
}

// ofAgent lists what the agent is offered; with all=true also what it is not.
func (t Tool) ofAgent(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	list, err := t.Tools.OfAgent(r.Context(), httpx.Actor(r.Context()), aid)
	if err != nil {
		return err
	}
	out := wire.PlatformTools{Tools: []wire.PlatformTool{}}
	for _, v := range list {
		if v.On || r.URL.Query().Get("all") == "true" {
			out.Tools = append(out.Tools, present.AgentTool(v))
		}
	}
	return httpx.JSON(w, http.StatusOK, out)
}

func (t Tool) calls(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	before, err := queryTime(r, "before")
	if err != nil {
		return err
	}
	list, err := t.Tools.Calls(r.Context(), httpx.Actor(r.Context()), aid, before, httpx.Limit(r, 50, 200))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.ToolCallRows(list))
}

func (t Tool) assign(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		AgentID string `json:"agentId"`
	}
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	aid, err := id.Parse[id.Participant](in.AgentID)
	if err != nil {
		return fault.ErrNotFound
	}
	return t.choose(w, r, aid, true)
}

func (t Tool) takeAway(w http.ResponseWriter, r *http.Request) error {
	aid, err := agentID(r)
	if err != nil {
		return err
	}
	return t.choose(w, r, aid, false)
}

func (t Tool) choose(w http.ResponseWriter, r *http.Request, aid id.Participant, on bool) error {
	if err := t.Tools.Choose(r.Context(), httpx.Actor(r.Context()), aid, chi.URLParam(r, "tool"), on); err != nil {
		return err
	}
	return httpx.NoContent(w)
}

// noteLocal is told before a tool of the bridge's own machine shows text of others.
func (t Tool) noteLocal(w http.ResponseWriter, r *http.Request) error {
	var in wire.LocalToolCall
	if err := httpx.Decode(w, r, &in); err != nil {
		return err
	}
	if err := t.Tools.NoteLocal(r.Context(), httpx.Actor(r.Context()), toolCall(in.ToolName, nil, in.Context)); err != nil {
		return err
	}
	return httpx.NoContent(w)
}

// call answers 200 for results and for refusals: a refusal has ok false, an error
// and no text, for a bridge takes any text for success.
func (t Tool) call(w http.ResponseWriter, r *http.Request) error {
	var in wire.MCPCall
	if err := httpx.DecodeLimit(w, r, &in, maxMessageBody); err != nil {
		return err
	}
	call := toolCall(in.ToolName, in.Args, in.Context)
	call.Key = r.Header.Get("Idempotency-Key")
	out, err := t.Tools.Call(r.Context(), httpx.Actor(r.Context()), call)
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.ToolResult(out))
}
