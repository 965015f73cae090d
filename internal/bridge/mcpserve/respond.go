package mcpserve

import (
	"context"
	"encoding/json"

	"github.com/agntchat/agntchat/internal/bridge/backend"
)

// Info is how a server presents itself.
type Info struct {
	Name         string
	Version      string
	Instructions string                // for the model; may be empty
	Hints        map[string]Hints      // by tool; a tool without them has none
	Meta         func(json.RawMessage) // is given the _meta of each tools/call before the call; may be nil
	Notices      <-chan string         // is told to the client as messages of its log, over standard output only; may be nil
}

// Hints are what a client may be told of a tool, so that it asks a person less often (MCP, ToolAnnotations).
type Hints struct {
	ReadOnly    bool `json:"readOnlyHint"`
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
	OpenWorld   bool `json:"openWorldHint"`
}

// maxResult bounds the text of a result, in characters.
const maxResult = 30_000

// answer is a result, or with a code an error.
type answer struct {
	result  any
	code    int
	message string
}

// respond answers one request.
func respond(ctx context.Context, req request, info Info, tools func() []backend.Tool, call func(context.Context, string, json.RawMessage) backend.ToolResult) answer {
	switch req.Method {
	case "initialize":
		var p struct {
			ProtocolVersion string `json:"protocolVersion"`
		}
		_ = json.Unmarshal(req.Params, &p)
		if p.ProtocolVersion == "" {
			p.ProtocolVersion = "2025-06-18"
		}
		result := map[string]any{
			"protocolVersion": p.ProtocolVersion, "capabilities": map[string]any{"tools": map[string]any{}},
			"serverInfo": map[string]any{"name": info.Name, "version": info.Version},
		}
		if info.Notices != nil {
			result["capabilities"] = map[string]any{"tools": map[string]any{}, "logging": map[string]any{}}
		}
		if info.Instructions != "" {
			result["instructions"] = info.Instructions
		}
		return answer{result: result}
	case "ping":
		return answer{result: map[string]any{}}
	case "tools/list":
		list := []map[string]any{}
		for _, t := range tools() {
			entry := map[string]any{"name": t.Name, "description": t.Description, "inputSchema": t.Schema}
			if h, ok := info.Hints[t.Name]; ok {
				entry["annotations"] = h
			}
			list = append(list, entry)
		}
		return answer{result: map[string]any{"tools": list}}
	case "tools/call":
		var p struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"`
			Meta      json.RawMessage `json:"_meta"`
		}
		if json.Unmarshal(req.Params, &p) != nil {
			return answer{code: -32602, message: "the parameters are malformed"}
		}
		if info.Meta != nil {
			info.Meta(p.Meta)
		}
		res := call(ctx, p.Name, p.Arguments)
		if r := []rune(res.Text); len(r) > maxResult {
			res.Text = string(r[:maxResult]) + "\n[cut]"
		}
		return answer{result: map[string]any{"content": []any{map[string]any{"type": "text", "text": res.Text}}, "isError": res.IsError}}
	}
	return answer{code: -32601, message: "unknown method"}
}

func frame(id json.RawMessage, a answer) map[string]any {
	out := map[string]any{"jsonrpc": "2.0", "id": id}
	if a.code != 0 {
		out["error"] = map[string]any{"code": a.code, "message": a.message}
	} else {
		out["result"] = a.result
	}
	return out
}
