package claudecode

import (
	"encoding/json"
	"strings"
)

// line is one line of the CLI's stream-json output; only what is read here.
type line struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	IsReplay  bool   `json:"isReplay"`
	ParentID  string `json:"parent_tool_use_id"`

	// system
	Model       string `json:"model"`
	Attempt     int    `json:"attempt"`
	ErrorStatus int    `json:"error_status"`
	MCPServers  []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	} `json:"mcp_servers"`

	// user: results of tools
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`

	// stream_event
	Event struct {
		Type         string `json:"type"`
		ContentBlock struct {
			Type string `json:"type"`
			Name string `json:"name"`
		} `json:"content_block"`
		Delta struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"delta"`
	} `json:"event"`

	// result
	IsError    bool   `json:"is_error"`
	Result     string `json:"result"`
	NumTurns   int    `json:"num_turns"`
	APIStatus  int    `json:"api_error_status"`
	StopReason string `json:"stop_reason"`
	Deferred   struct {
		ID string `json:"id"`
	} `json:"deferred_tool_use"`
	// Errors are strings today; anything readable will do.
	Errors []json.RawMessage `json:"errors"`
	Usage  struct {
		InputTokens         int64 `json:"input_tokens"`
		OutputTokens        int64 `json:"output_tokens"`
		CacheCreationTokens int64 `json:"cache_creation_input_tokens"`
		CacheReadTokens     int64 `json:"cache_read_input_tokens"`
	} `json:"usage"`

	// control_request, control_response
	RequestID string `json:"request_id"`
	Request   struct {
		Subtype  string          `json:"subtype"`
		ToolName string          `json:"tool_name"`
		Input    json.RawMessage `json:"input"`
	} `json:"request"`
}

// said is everything an error result tells.
func (l line) said() string {
	out := []string{l.Result}
	for _, raw := range l.Errors {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// toolResult is what the line says a tool call gave, if it is about this call.
func (l line) toolResult(callID string) (text string, ok bool) {
	var blocks []struct {
		Type      string          `json:"type"`
		ToolUseID string          `json:"tool_use_id"`
		Content   json.RawMessage `json:"content"`
	}
	if json.Unmarshal(l.Message.Content, &blocks) != nil {
		return "", false
	}
	for _, b := range blocks {
		if b.Type != "tool_result" || b.ToolUseID != callID {
			continue
		}
		if json.Unmarshal(b.Content, &text) != nil {
			text = string(b.Content)
		}
		return text, true
	}
	return "", false
}

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type userLine struct {
	Type    string `json:"type"`
	Message struct {
		Role    string      `json:"role"`
		Content []textBlock `json:"content"`
	} `json:"message"`
}

func newUserLine(text string) userLine {
	var u userLine
	u.Type, u.Message.Role = "user", "user"
	u.Message.Content = []textBlock{{"text", text}}
	return u
}

type controlResponse struct {
	Type     string `json:"type"`
	Response struct {
		Subtype   string `json:"subtype"`
		RequestID string `json:"request_id"`
		Response  any    `json:"response,omitempty"`
		Error     string `json:"error,omitempty"`
	} `json:"response"`
}

// denial is what the model is told about a tool it may not use.
const denial = "This tool is not allowed for this agent. Nobody can be asked from here: answer without it, and say what you would have done."

func deny(requestID string) controlResponse {
	var r controlResponse
	r.Type = "control_response"
	r.Response.Subtype, r.Response.RequestID = "success", requestID
	r.Response.Response = map[string]any{"behavior": "deny", "message": denial}
	return r
}

func unsupported(requestID string) controlResponse {
	var r controlResponse
	r.Type = "control_response"
	r.Response.Subtype, r.Response.RequestID, r.Response.Error = "error", requestID, "not supported by this bridge"
	return r
}

func interrupt() map[string]any {
	return map[string]any{"type": "control_request", "request_id": "stop", "request": map[string]any{"subtype": "interrupt"}}
}
