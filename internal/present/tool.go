package present

import (
	"encoding/json"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/wire"
)

// Tools is the catalogue in an agent's own /api/me (bridge contract 4.5).
func Tools(all []tool.Definition) []wire.Tool {
	out := make([]wire.Tool, len(all))
	for n, d := range all {
		out[n] = wire.Tool{Name: d.Name, Description: d.Description, InputSchema: d.InputSchema, ExecutorMethod: d.ExecutorMethod, Category: d.Category, AlwaysLoad: d.AlwaysLoad}
	}
	return out
}

// ToolResult is the answer of /api/mcp/call: a refusal has an error and no text
// (bridge contract 5.5).
func ToolResult(r flow.ToolResult) wire.MCPResult {
	if r.Refused != nil {
		return wire.MCPResult{Content: []wire.MCPContent{}, Error: new(r.Refused.Message), Code: r.Refused.Code, Details: fields(r.Refused), RequestID: requestID(r)}
	}
	return wire.MCPResult{OK: true, Content: []wire.MCPContent{{Type: "text", Text: r.Text}}}
}

// RPCToolResult is the same as a result of tools/call: a refusal is a text that is
// a JSON object with error (bridge contract 2.8.1, 5.5).
func RPCToolResult(r flow.ToolResult) (wire.RPCToolResult, error) {
	text := r.Text
	if r.Refused != nil {
		b, err := json.Marshal(wire.ToolRefusal{Error: r.Refused.Message, Code: r.Refused.Code, Details: fields(r.Refused), RequestID: requestID(r)})
		if err != nil {
			return wire.RPCToolResult{}, err
		}
		text = string(b)
	}
	return wire.RPCToolResult{Content: []wire.MCPContent{{Type: "text", Text: text}}, IsError: r.Refused != nil}, nil
}

func requestID(r flow.ToolResult) string {
	if r.RequestID.IsZero() {
		return ""
	}
	return r.RequestID.String()
}

func fields(f *fault.Error) []wire.FieldError {
	var out []wire.FieldError
	for _, c := range f.Fields {
		out = append(out, wire.FieldError{Field: c.Field, Code: c.Code, Message: c.Message})
	}
	return out
}

// RPCTools is the catalogue as the Model Context Protocol lists it.
func RPCTools(all []tool.Definition) wire.RPCTools {
	out := wire.RPCTools{Tools: make([]wire.RPCTool, len(all))}
	for n, d := range all {
		out.Tools[n] = wire.RPCTool{Name: d.Name, Description: d.Description, InputSchema: d.InputSchema}
		if d.AlwaysLoad {
			out.Tools[n].Meta = wire.Map(`{"anthropic/alwaysLoad":true}`)
		}
	}
	return out
}
