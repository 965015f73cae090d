package wire

// ExecutorRegister is the body of POST /api/gateway/executors (bridge 3.2), snake_case.
type ExecutorRegister struct {
	ExecutorKey      string        `json:"executor_key"`
	DisplayName      string        `json:"display_name"`
	Capabilities     []string      `json:"capabilities"`
	ConnectionType   string        `json:"connection_type"`
	MaxConcurrent    int           `json:"max_concurrent"`
	BackendHealth    BackendHealth `json:"backend_health"`
	InstanceID       string        `json:"instance_id"`
	ResumableTaskIDs []string      `json:"resumable_task_ids"`
	Metadata         Map           `json:"metadata"`
}

// ExecutorMetadata is what we read of its metadata; client and protocol tell ours (decision 8).
type ExecutorMetadata struct {
	DeviceName    string `json:"device_name"`
	BridgeVersion string `json:"bridge_version"`
	Client        string `json:"client"`
	Protocol      int    `json:"protocol"`
}

// BackendHealth is the state of a bridge's model seat (bridge 4.13). reset_at: unix epoch seconds.
type BackendHealth struct {
	Status  string   `json:"status"` // ok | unauthenticated | missing_cli | rate_limited | error
	Detail  *string  `json:"detail"`
	ResetAt *float64 `json:"reset_at,omitempty"`
}

// Executor answers the registration.
type Executor struct {
	ID            string `json:"id"`
	AgentID       string `json:"agentId"`
	ExecutorKey   string `json:"executorKey"`
	DisplayName   string `json:"displayName"`
	Status        string `json:"status"`
	MaxConcurrent int    `json:"maxConcurrent"`
	InstanceID    string `json:"instanceId"`
	LeaseSeconds  int    `json:"leaseSeconds"`
}

// Heartbeat is the body of POST /api/gateway/executors/:id/heartbeat; claims is ours.
type Heartbeat struct {
	Metrics       Map            `json:"metrics"`
	BridgeVersion string         `json:"bridge_version"`
	BackendHealth *BackendHealth `json:"backend_health"`
	Claims        []ClaimRef     `json:"claims,omitempty"`
}

// HeartbeatMetrics is what we read of metrics.
type HeartbeatMetrics struct {
	CurrentActivity string `json:"current_activity"`
}

// ClaimRef names one claim by row and generation.
type ClaimRef struct {
	ID         string `json:"id"`
	Generation int64  `json:"generation"`
}

// HeartbeatAnswer tells commands and, to ours, claims that are no longer held.
type HeartbeatAnswer struct {
	Status   string    `json:"status"`
	Commands []Command `json:"commands"`
	Lost     []string  `json:"lost,omitempty"`
}

// Command is a control directive (bridge 2.11): gateway_command on the socket, or in a heartbeat answer.
type Command struct {
	Type           string  `json:"type"`
	Reason         string  `json:"reason,omitempty"`
	ConversationID *string `json:"conversation_id,omitempty"`
	TaskID         *string `json:"task_id,omitempty"`
}

// Deregistered answers DELETE /api/gateway/executors/:id.
type Deregistered struct {
	Superseded bool `json:"superseded"`
}

// Ack is the body of POST /api/gateway/messages/:id/ack.
type Ack struct {
	ExecutorID string `json:"executor_id"`
	Generation *int64 `json:"generation,omitempty"`
}

// Acked is its answer.
type Acked struct {
	Status  string `json:"status"`
	Outcome string `json:"outcome,omitempty"`
}

// BatchAck is the body of POST /api/gateway/messages/batch-ack.
type BatchAck struct {
	IDs        []string `json:"ids"`
	ExecutorID string   `json:"executor_id"`
}

// BatchAcked is its answer.
type BatchAcked struct {
	Results []BatchAckResult `json:"results"`
	Count   int              `json:"count"`
}

// BatchAckResult is one row of it.
type BatchAckResult struct {
	ID     string `json:"id"`
	Status string `json:"status"` // ok | error
	Error  string `json:"error,omitempty"`
}

// CatchupReply answers the push catchup.
type CatchupReply struct {
	Messages      int `json:"messages"`
	Tasks         int `json:"tasks"`
	ScopeRequests int `json:"scope_requests"`
	AgentQueries  int `json:"agent_queries"`
}

// GatewayMessage is one claimed message (bridge 2.7); generation, merged and leaseSeconds go to our bridge only.
type GatewayMessage struct {
	ID                  string          `json:"id"`
	MessageID           string          `json:"messageId"`
	ConversationID      string          `json:"conversationId"`
	Content             string          `json:"content"`
	ReadableText        string          `json:"readableText,omitempty"`
	ContentType         string          `json:"contentType"`
	MessageType         *string         `json:"messageType"`
	ContentStructured   Map             `json:"contentStructured"`
	SenderID            *string         `json:"senderId"`
	SenderName          *string         `json:"senderName"`
	SenderType          *string         `json:"senderType"`
	Metadata            Map             `json:"metadata"`
	OrchestratorID      *string         `json:"orchestratorId"`
	ConversationType    string          `json:"conversationType"`
	ConversationTitle   *string         `json:"conversationTitle"`
	ConversationMembers []GatewayMember `json:"conversationMembers"`
	ConversationMemory  Map             `json:"conversationMemory"`
	ContextBrief        Map             `json:"contextBrief"`
	TurnContext         Map             `json:"turnContext"`
	Directives          Directives      `json:"directives"`
	RecentMessages      []Message       `json:"recentMessages"`
	LatestSeenMessageID *string         `json:"latestSeenMessageId"`
	MessageTriage       Map             `json:"messageTriage"`
	TurnOverride        Map             `json:"turnOverride"`
	ActiveTaskID        *string         `json:"activeTaskId"`
	Generation          int64           `json:"generation,omitempty"`
	Merged              []MergedMessage `json:"merged,omitempty"`
	LeaseSeconds        int             `json:"leaseSeconds,omitempty"`
}

// GatewayMember is what DM routing reads of a member.
type GatewayMember struct {
	ParticipantID string `json:"participantId"`
	DisplayName   string `json:"displayName"`
	Type          string `json:"type"`
}

// MergedMessage is a further message that the same turn answers (docs/protocol.md 2).
type MergedMessage struct {
	ID         string  `json:"id"`
	MessageID  string  `json:"messageId"`
	Content    string  `json:"content"`
	SenderID   *string `json:"senderId"`
	SenderName string  `json:"senderName"`
	SenderType string  `json:"senderType"`
	InsertedAt Time    `json:"insertedAt"`
}

// GatewayMessageAdded is a hint that more waits behind the running turn.
type GatewayMessageAdded struct {
	ID             string `json:"id"`
	MessageID      string `json:"messageId"`
	ConversationID string `json:"conversationId"`
}

// Directives is what an agent is told this turn (bridge 4.6).
type Directives struct {
	PromptDirectives    []string         `json:"promptDirectives"`
	VolatileContext     []string         `json:"volatileContext"`
	BehavioralConfig    BehavioralConfig `json:"behavioralConfig"`
	HumanExpectsReply   bool             `json:"humanExpectsReply"`
	SkipMessage         bool             `json:"skipMessage"`
	SkipReason          string           `json:"skipReason,omitempty"`
	TaskCreationAllowed bool             `json:"taskCreationAllowed"`
	DeferTaskCreation   bool             `json:"deferTaskCreation"`
	IsOrchestrator      bool             `json:"isOrchestrator"`
	AgentType           string           `json:"agentType"`
	FamilyAgents        []GatewayMember  `json:"familyAgents"`
	ToolAllowlist       []string         `json:"toolAllowlist,omitempty"` // tasks only
	PromptSources       []string         `json:"promptSources,omitempty"` // ours: who wrote each part: platform | owner | soul
	StableHash          string           `json:"stableHash,omitempty"`    // ours: hex SHA-256 of the stable part
}

// BehavioralConfig holds texts and switches (bridge 4.6).
type BehavioralConfig struct {
	ErrorMessages              map[string]string `json:"errorMessages"`
	DMRedirectTemplate         string            `json:"dmRedirectTemplate"`
	TaskSuffix                 string            `json:"taskSuffix"`
	DangerouslySkipPermissions bool              `json:"dangerouslySkipPermissions"`
	PromptCache                *PromptCache      `json:"promptCache,omitempty"`
}

// PromptCache is read by bridges from 2.11.24.
type PromptCache struct {
	AnthropicTTL            string  `json:"anthropicTtl"`
	HistoryWindowTTLSeconds float64 `json:"historyWindowTtlSeconds"`
}

// TurnComplete is the body of POST /api/gateway/messages/:id/complete (docs/protocol.md 3), snake_case.
type TurnComplete struct {
	ExecutorID string      `json:"executor_id"`
	Generation int64       `json:"generation"`
	Outcome    string      `json:"outcome"`
	Reply      *TurnReply  `json:"reply,omitempty"`
	Error      *TurnError  `json:"error,omitempty"`
	Usage      *TokenUsage `json:"usage,omitempty"`
	Turn       *TurnStats  `json:"turn,omitempty"`
	ToolUses   []ToolUse   `json:"tool_uses,omitempty"`
}

// TurnReply is the answer of a turn.
type TurnReply struct {
	Content           string  `json:"content"`
	ContentType       string  `json:"content_type,omitempty"`
	MessageType       *string `json:"message_type,omitempty"`
	ContentStructured Map     `json:"content_structured,omitempty"`
	Metadata          Map     `json:"metadata,omitempty"`
	LastSeenMessageID *string `json:"last_seen_message_id,omitempty"`
}

// TurnError says how a turn failed.
type TurnError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// TurnStats describes the model run.
type TurnStats struct {
	Model      string `json:"model,omitempty"`
	Backend    string `json:"backend,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
	ToolCalls  int    `json:"tool_calls,omitempty"`
	Iterations int    `json:"iterations,omitempty"`
}

// TurnCompleted is its answer.
type TurnCompleted struct {
	Status  string   `json:"status"`
	Outcome string   `json:"outcome"`
	Message *Message `json:"message"`
}

// TurnRelease is the body of POST /api/gateway/messages/:id/release.
type TurnRelease struct {
	ExecutorID string `json:"executor_id"`
	Generation int64  `json:"generation"`
}

// TokenUsage counts tokens of a model run.
type TokenUsage struct {
	InputTokens              int64 `json:"input_tokens"`
	OutputTokens             int64 `json:"output_tokens"`
	CacheCreationInputTokens int64 `json:"cache_creation_input_tokens,omitempty"`
	CacheReadInputTokens     int64 `json:"cache_read_input_tokens,omitempty"`
}

// UsageReport is the body of POST /api/usage (bridge 3.6).
type UsageReport struct {
	Usage  TokenUsage `json:"usage"`
	Model  string     `json:"model"`
	Turn   Map        `json:"turn"`
	TaskID *string    `json:"task_id"`
}

// ToolUse names one tool call of a CLI.
type ToolUse struct {
	Name string `json:"name"`
}

// CLIToolUses is the body of POST /api/agents/me/cli-tool-uses.
type CLIToolUses struct {
	ConversationID *string   `json:"conversation_id"`
	ToolUses       []ToolUse `json:"tool_uses"`
}

// RuntimeFaultReport is the body of POST /api/agents/me/runtime-faults.
type RuntimeFaultReport struct {
	Kind           string  `json:"kind"`
	ConversationID *string `json:"conversation_id"`
	MessageID      *string `json:"message_id"`
	Detail         string  `json:"detail"`
	Meta           Map     `json:"meta"`
}

// Tool is one entry of resolvedTools (bridge 4.5).
type Tool struct {
	Name           string `json:"name"`
	Description    string `json:"description"`
	InputSchema    Map    `json:"inputSchema"`
	ExecutorMethod string `json:"executorMethod,omitempty"`
	Category       string `json:"category"`
	ExecutorConfig Map    `json:"executorConfig,omitempty"`
	AlwaysLoad     bool   `json:"alwaysLoad,omitempty"`
}

// MCPCall is the body of POST /api/mcp/call (bridge 3.8).
type MCPCall struct {
	ToolName string         `json:"tool_name"`
	Args     Map            `json:"args"`
	Context  MCPCallContext `json:"context"`
}

// LocalToolCall is the body of POST /api/agents/me/local-tool-calls: a tool that runs
// beside the bridge is about to show text of others to the model.
type LocalToolCall struct {
	ToolName string         `json:"tool_name"`
	Context  MCPCallContext `json:"context"`
}

// MCPCallContext holds the five context keys (bridge 2.8.1).
type MCPCallContext struct {
	ConversationID       string `json:"conversation_id,omitempty"`
	SourceMessageID      string `json:"source_message_id,omitempty"`
	TaskID               string `json:"task_id,omitempty"`
	ActiveConversationID string `json:"active_conversation_id,omitempty"`
	LastSeenMessageID    string `json:"last_seen_message_id,omitempty"`
}

// MCPResult is the answer: a refusal has ok false, error, and no text (bridge 5.5).
type MCPResult struct {
	OK        bool         `json:"ok"`
	Content   []MCPContent `json:"content"`
	Error     *string      `json:"error,omitempty"`
	Code      string       `json:"code,omitempty"`
	Details   []FieldError `json:"details,omitempty"`
	RequestID string       `json:"requestId,omitempty"` // with code approval_required
}

// MCPContent is one block.
type MCPContent struct {
	Type string `json:"type"`
	Text string `json:"text"`
}
