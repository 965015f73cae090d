package httpapi

import (
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// Tool carries out tool calls that a bridge passes through (bridge 3.8, 5.5).
type Tool struct {
	Tools *flow.Tools
	Log   *slog.Logger
}

// Mount mounts the route.
func (t Tool) Mount(r chi.Router) {
	r.Post("/mcp/call", httpx.Wrap(t.Log, t.call))
}

// call answers 200 for results and for refusals: a refusal has ok false, an error
// and no text, for a bridge takes any text for success.
func (t Tool) call(w http.ResponseWriter, r *http.Request) error {
	var in wire.MCPCall
	if err := httpx.DecodeLimit(w, r, &in, maxMessageBody); err != nil {
		return err
	}
	out, err := t.Tools.Call(r.Context(), httpx.Actor(r.Context()), toolCall(in.ToolName, in.Args, in.Context))
	if err != nil {
		return err
	}
	return httpx.JSON(w, http.StatusOK, present.ToolResult(out))
}
