package present

import (
	"encoding/json"
	"fmt"

	"github.com/agntchat/agntchat/internal/fault"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/tool"
	"github.com/agntchat/agntchat/internal/view"
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

// PlatformTool is a tool as people choose it.
func PlatformTool(s tool.Spec) wire.PlatformTool {
	out := wire.PlatformTool{
		ID: s.Name, Name: s.Name, Scope: "global", Category: s.Category, DisplayName: s.DisplayName, Description: s.Description, Tags: s.Tags,
		Risk: s.Risk.String(), Essential: s.Essential,
	}
	if s.Assigned {
		out.Scope = "agent"
	}
	if out.Tags == nil {
		out.Tags = []string{}
	}
	return out
}

// AgentTool is a tool with whether one agent has it.
func AgentTool(t flow.AgentTool) wire.PlatformTool {
	out := PlatformTool(t.Spec)
	out.Enabled, out.Allowed = new(t.On), new(t.May)
	if t.Choice.Tool != "" {
		out.ChosenBy, out.ChosenAt = new(t.Choice.ChosenBy.String()), new(wire.At(t.Choice.At))
	}
	return out
}

// ToolCallRows is a page of calls.
func ToolCallRows(list []view.ToolCallRow) wire.ToolCallRows {
	out := wire.ToolCallRows{ToolCalls: make([]wire.ToolCallRow, len(list))}
	for n, c := range list {
		out.ToolCalls[n] = wire.ToolCallRow{
			ID: c.ID.String(), Tool: c.Tool, Outcome: c.Outcome, Code: c.Code, PersonName: c.PersonName, Untrusted: c.Untrusted, DurationMS: c.DurationMS, InsertedAt: wire.At(c.InsertedAt),
			PersonID: idTextOrNil(c.PersonID), ConversationID: idTextOrNil(c.ConversationID), TaskID: idTextOrNil(c.TaskID),
		}
	}
	return out
}

func idTextOrNil[T interface {
	IsZero() bool
	fmt.Stringer
}](v T) *string {
	if v.IsZero() {
		return nil
	}
	return new(v.String())
}
