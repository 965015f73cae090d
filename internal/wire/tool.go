package wire

// RPCRequest is one JSON-RPC 2.0 message of POST /api/mcp (bridge 2.8.1).
type RPCRequest struct {
	JSONRPC string `json:"jsonrpc"`
	ID      Map    `json:"id,omitempty"` // string, number or null; absent in a notification
	Method  string `json:"method"`
	Params  Map    `json:"params,omitempty"`
}

// RPCResponse is the answer: a result or an error. What a tool refuses is a result
// with isError, for a bridge looks at no error member (bridge 2.8.1).
type RPCResponse struct {
	JSONRPC string    `json:"jsonrpc"`
	ID      Map       `json:"id"`
	Result  Map       `json:"result,omitempty"`
	Error   *RPCError `json:"error,omitempty"`
}

// RPCError is a failure of the protocol, not of a tool.
type RPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// RPCToolCall is the params of tools/call.
type RPCToolCall struct {
	Name      string      `json:"name"`
	Arguments Map         `json:"arguments,omitempty"`
	Meta      RPCCallMeta `json:"_meta"`
}

// RPCCallMeta carries the context of a call.
type RPCCallMeta struct {
	Context MCPCallContext `json:"context"`
}

// RPCToolResult is the result of tools/call.
type RPCToolResult struct {
	Content []MCPContent `json:"content"`
	IsError bool         `json:"isError"`
}

// RPCTools is the result of tools/list.
type RPCTools struct {
	Tools []RPCTool `json:"tools"`
}

// RPCTool is one tool as the Model Context Protocol names it.
type RPCTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	InputSchema Map    `json:"inputSchema"`
	Meta        Map    `json:"_meta,omitempty"`
}

// RPCInitialize is the result of initialize.
type RPCInitialize struct {
	ProtocolVersion string    `json:"protocolVersion"`
	Capabilities    Map       `json:"capabilities"`
	ServerInfo      RPCServer `json:"serverInfo"`
}

// RPCServer names this server.
type RPCServer struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// ToolRefusal is the text of a refused call (bridge 5.5): a JSON object with error.
type ToolRefusal struct {
	Error     string       `json:"error"`
	Code      string       `json:"code"`
	Details   []FieldError `json:"details,omitempty"`
	RequestID string       `json:"requestId,omitempty"` // with code approval_required
}

// PlatformTool is a tool as people choose it (desktop 5.14). Scope agent needs
// assignment, global is everybody's. The last fields are set for one agent only.
type PlatformTool struct {
	ID          string   `json:"id"` // its name
	Name        string   `json:"name"`
	Scope       string   `json:"scope"` // global | agent
	Category    string   `json:"category"`
	DisplayName string   `json:"displayName"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Risk        string   `json:"risk"` // low | medium | high | critical
	Essential   bool     `json:"essential"`
	Enabled     *bool    `json:"enabled,omitempty"` // the agent is offered it
	Allowed     *bool    `json:"allowed,omitempty"` // it may use it, though it may have no use for it now
	ChosenBy    *string  `json:"chosenBy,omitempty"`
	ChosenAt    *Time    `json:"chosenAt,omitempty"`
}

// PlatformTools answers GET /api/tools and GET /api/agents/:id/tools.
type PlatformTools struct {
	Tools []PlatformTool `json:"tools"`
}

// ToolCallRow is one call of a tool: what came of it, without arguments and results.
type ToolCallRow struct {
	ID             string  `json:"id"`
	Tool           string  `json:"tool"`
	Outcome        string  `json:"outcome"` // done | refused | failed | timed_out
	Code           string  `json:"code"`
	PersonID       *string `json:"personId"`
	PersonName     *string `json:"personName"`
	ConversationID *string `json:"conversationId"`
	TaskID         *string `json:"taskId"`
	Untrusted      bool    `json:"untrusted"`
	DurationMS     int     `json:"durationMs"`
	InsertedAt     Time    `json:"insertedAt"`
}

// ToolCallRows answers GET /api/agents/:id/tool-calls, newest first.
type ToolCallRows struct {
	ToolCalls []ToolCallRow `json:"toolCalls"`
}

// AgentUsage answers GET /api/agents/:id/usage: sums over the last days, as bridges
// reported them to POST /api/usage.
type AgentUsage struct {
	Days                     int          `json:"days"`
	Requests                 int          `json:"requests"`
	InputTokens              int64        `json:"inputTokens"`
	OutputTokens             int64        `json:"outputTokens"`
	CacheReadInputTokens     int64        `json:"cacheReadInputTokens"`
	CacheCreationInputTokens int64        `json:"cacheCreationInputTokens"`
	CacheHitRate             *float64     `json:"cacheHitRate"` // of all input, 0 to 1; null without input
	StableParts              []StablePart `json:"stableParts"`  // newest first
}

// StablePart is what an agent is told in every turn, by its hash, and since when.
type StablePart struct {
	Hash  string `json:"hash"`
	Since Time   `json:"since"`
}
