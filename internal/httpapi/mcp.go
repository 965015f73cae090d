package httpapi

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"

	"github.com/agntchat/agntchat/internal/access"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/httpx"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// MCP is the tools of an agent over JSON-RPC 2.0 (bridge 2.8.1, 3.8), in the forms
// of the Model Context Protocol: one request, one answer, no session and no stream.
type MCP struct {
	Tools   *flow.Tools
	Version string // of this server, for serverInfo
	Log     *slog.Logger
}

// Mount mounts the route.
func (m MCP) Mount(r chi.Router) {
	r.Post("/mcp", httpx.Wrap(m.Log, m.serve))
}

// Codes of JSON-RPC 2.0.
const (
	rpcInvalidRequest = -32600
	rpcUnknownMethod  = -32601
	rpcInvalidParams  = -32602
)

// mcpVersions are the protocol versions that are spoken, newest first.
var mcpVersions = []string{"2025-06-18", "2025-03-26", "2024-11-05"}

func (m MCP) serve(w http.ResponseWriter, r *http.Request) error {
	if err := access.RequireAgent(httpx.Actor(r.Context())); err != nil {
		return err
	}
	var in wire.RPCRequest
	if err := httpx.DecodeLimit(w, r, &in, maxMessageBody); err != nil {
		return err
	}
	if len(in.ID) == 0 { // a notification: nobody waits for an answer
		return httpx.JSON(w, http.StatusAccepted, struct{}{})
	}
	out := wire.RPCResponse{JSONRPC: "2.0", ID: in.ID}
	result, fail, err := m.answer(r, in)
	switch {
	case err != nil:
		return err
	case fail != nil:
		out.Error = fail
	default:
		if out.Result, err = json.Marshal(result); err != nil {
			return err
		}
	}
	return httpx.JSON(w, http.StatusOK, out)
}

func (m MCP) answer(r *http.Request, in wire.RPCRequest) (any, *wire.RPCError, error) {
	if in.JSONRPC != "2.0" {
		return nil, &wire.RPCError{Code: rpcInvalidRequest, Message: "This is not JSON-RPC 2.0."}, nil
	}
	switch in.Method {
	case "initialize":
		var p struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		_ = json.Unmarshal(in.Params, &p) // without one the newest is offered
		version := mcpVersions[0]
		if slices.Contains(mcpVersions, p.ProtocolVersion) {
			version = p.ProtocolVersion
		}
		return wire.RPCInitialize{ProtocolVersion: version, Capabilities: wire.Map(`{"tools":{}}`), ServerInfo: wire.RPCServer{Name: "agntchat", Version: m.Version}}, nil, nil
	case "ping":
		return struct{}{}, nil, nil
	case "tools/list":
		list, err := m.Tools.Catalogue(r.Context(), httpx.Actor(r.Context()).ID)
		return present.RPCTools(list), nil, err
	case "tools/call":
		var p wire.RPCToolCall
		if json.Unmarshal(in.Params, &p) != nil || p.Name == "" {
			return nil, &wire.RPCError{Code: rpcInvalidParams, Message: "tools/call needs a name and arguments."}, nil //nolint:nilerr // the RPC error tells it
		}
		out, err := m.Tools.Call(r.Context(), httpx.Actor(r.Context()), toolCall(p.Name, p.Arguments, p.Meta.Context))
		if err != nil {
			return nil, nil, err
		}
		result, err := present.RPCToolResult(out)
		return result, nil, err
	default:
		return nil, &wire.RPCError{Code: rpcUnknownMethod, Message: "This method is not known."}, nil
	}
}

func toolCall(name string, args wire.Map, c wire.MCPCallContext) flow.ToolCall {
	return flow.ToolCall{
		Name: name, Args: args, ConversationID: c.ConversationID, ActiveConversationID: c.ActiveConversationID,
		SourceMessageID: c.SourceMessageID, LastSeenMessageID: c.LastSeenMessageID, TaskID: c.TaskID,
	}
}
