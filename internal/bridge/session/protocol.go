package session

import "encoding/json"

// Profile is what the bridge reads of GET /api/me (contract 4.4).
type Profile struct {
	ID            string      `json:"id"`
	DisplayName   string      `json:"displayName"`
	OwnerID       string      `json:"ownerId"`
	Capabilities  []string    `json:"capabilities"`
	ModelConfig   ModelConfig `json:"modelConfig"`
	Settings      Settings    `json:"settings"`
	ResolvedTools []ToolDef   `json:"resolvedTools"`
}

// ModelConfig is the agent's model choice; keys are snake_case on the wire.
type ModelConfig struct {
	Backend         string  `json:"backend"`
	Model           string  `json:"model"`
	RuntimeAPIID    string  `json:"runtime_api_id"`
	MaxTokens       int64   `json:"max_tokens"`
	Timeout         float64 `json:"timeout"` // seconds
	Effort          string  `json:"effort"`
	SkipPermissions bool    `json:"dangerously_skip_permissions"`
	CLIConnection   string  `json:"cli_connection"` // subscription, anthropic, bedrock, vertex
	AWSRegion       string  `json:"aws_region"`
	VertexRegion    string  `json:"vertex_region"`
	VertexProject   string  `json:"vertex_project"`
}

// ModelID is the model a turn uses by default: the platform's own id beats the
// canonical one; "auto" leaves the choice to the backend.
func (c ModelConfig) ModelID() string {
	if c.RuntimeAPIID != "" {
		return c.RuntimeAPIID
	}
	if c.Model == "auto" {
		return ""
	}
	return c.Model
}

// Settings are the agent's numbers.
type Settings struct {
	MaxConcurrent int `json:"max_concurrent_tasks"`
}

// ToolDef is one entry of the catalogue (contract 4.5).
type ToolDef struct {
	Name           string          `json:"name"`
	Description    string          `json:"description"`
	InputSchema    json.RawMessage `json:"inputSchema"`
	ExecutorMethod string          `json:"executorMethod"`
	Category       string          `json:"category"`
}

// Message is a chat message as the gateway and REST show it (contract 4.1).
type Message struct {
	ID           string `json:"id"`
	SenderID     string `json:"senderId"`
	SenderName   string `json:"senderName"`
	SenderType   string `json:"senderType"`
	Content      string `json:"content"`
	ReadableText string `json:"readableText"`
	ContentType  string `json:"contentType"`
	MessageType  string `json:"messageType"`
	InsertedAt   string `json:"insertedAt"`
	Sender       struct {
		Type        string `json:"type"`
		DisplayName string `json:"displayName"`
	} `json:"sender"`
}

// Merged is a further message that the turn answers too (docs/protocol.md 2).
type Merged struct {
	ID         string `json:"id"`
	MessageID  string `json:"messageId"`
	Content    string `json:"content"`
	SenderID   string `json:"senderId"`
	SenderName string `json:"senderName"`
	SenderType string `json:"senderType"`
	InsertedAt string `json:"insertedAt"`
}

// Item is a claimed message: event gateway_message (contract 2.7).
type Item struct {
	ID                  string     `json:"id"`
	MessageID           string     `json:"messageId"`
	ConversationID      string     `json:"conversationId"`
	Content             string     `json:"content"`
	ReadableText        string     `json:"readableText"`
	SenderID            string     `json:"senderId"`
	SenderName          string     `json:"senderName"`
	SenderType          string     `json:"senderType"`
	Directives          Directives `json:"directives"`
	RecentMessages      []Message  `json:"recentMessages"`
	LatestSeenMessageID string     `json:"latestSeenMessageId"`
	TurnOverride        *Override  `json:"turnOverride"`
	ActiveTaskID        string     `json:"activeTaskId"`
	Generation          int64      `json:"generation"`
	Merged              []Merged   `json:"merged"`
	LeaseSeconds        int        `json:"leaseSeconds"`
}

// Approval is a decision over a call for which a run ended: event gateway_approval
// (docs/protocol.md 9).
type Approval struct {
	ID             string          `json:"id"`
	Generation     int64           `json:"generation"`
	RequestID      string          `json:"requestId"`
	Status         string          `json:"status"` // approved, edited, denied, expired
	ToolName       string          `json:"toolName"`
	Input          json.RawMessage `json:"input"`
	Edited         bool            `json:"edited"`
	Text           string          `json:"text"`
	RunID          string          `json:"runId"`
	ToolUseID      string          `json:"toolUseId"`
	ConversationID string          `json:"conversationId"`
	TaskID         string          `json:"taskId"`
}

func (ap Approval) allowed() bool { return ap.Status == "approved" || ap.Status == "edited" }

// Override replaces model and effort for one turn.
type Override struct {
	Model  string `json:"model"`
	Effort string `json:"effort"`
}

// Directives are what the agent is told this turn (contract 4.6).
type Directives struct {
	PromptDirectives  []string `json:"promptDirectives"`
	VolatileContext   []string `json:"volatileContext"`
	HumanExpectsReply bool     `json:"humanExpectsReply"`
	SkipMessage       bool     `json:"skipMessage"`
	ToolAllowlist     []string `json:"toolAllowlist"`
	Behavioral        struct {
		SkipPermissions *bool  `json:"dangerouslySkipPermissions"`
		TaskSuffix      string `json:"taskSuffix"`
	} `json:"behavioralConfig"`
}

// Command is a control directive (contract 2.11).
type Command struct {
	Type           string `json:"type"`
	Reason         string `json:"reason"`
	ConversationID string `json:"conversation_id"`
	TaskID         string `json:"task_id"`
}

// Health is backend_health (contract 4.13).
type Health struct {
	Status  string   `json:"status"` // ok, unauthenticated, missing_cli, rate_limited, error
	Detail  *string  `json:"detail"`
	ResetAt *float64 `json:"reset_at,omitempty"` // Unix seconds
}

type registration struct {
	ExecutorKey      string         `json:"executor_key"`
	DisplayName      string         `json:"display_name"`
	Capabilities     []string       `json:"capabilities"`
	ConnectionType   string         `json:"connection_type"`
	MaxConcurrent    int            `json:"max_concurrent"`
	BackendHealth    Health         `json:"backend_health"`
	InstanceID       string         `json:"instance_id"`
	ResumableTaskIDs []string       `json:"resumable_task_ids"`
	Metadata         map[string]any `json:"metadata"`
}

type claimRef struct {
	ID         string `json:"id"`
	Generation int64  `json:"generation"`
}

type heartbeat struct {
	Metrics       map[string]any `json:"metrics"`
	BridgeVersion string         `json:"bridge_version"`
	BackendHealth Health         `json:"backend_health"`
	Claims        []claimRef     `json:"claims"`
}

type heartbeatAnswer struct {
	Commands []Command `json:"commands"`
	Lost     []string  `json:"lost"`
}

// completion is the body of POST /api/gateway/messages/{id}/complete.
type completion struct {
	ExecutorID string         `json:"executor_id"`
	Generation int64          `json:"generation"`
	Outcome    string         `json:"outcome"`
	Reply      *reply         `json:"reply,omitempty"`
	Error      *completionErr `json:"error,omitempty"`
	Usage      *usage         `json:"usage,omitempty"`
	Turn       *turnStats     `json:"turn,omitempty"`
	ToolUses   []toolUse      `json:"tool_uses,omitempty"`
}

type reply struct {
	Content           string         `json:"content"`
	ContentType       string         `json:"content_type,omitempty"`
	Metadata          map[string]any `json:"metadata,omitempty"`
	LastSeenMessageID string         `json:"last_seen_message_id,omitempty"`
}

type completionErr struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type usage struct {
	InputTokens         int64 `json:"input_tokens"`
	OutputTokens        int64 `json:"output_tokens"`
	CacheCreationTokens int64 `json:"cache_creation_input_tokens,omitempty"`
	CacheReadTokens     int64 `json:"cache_read_input_tokens,omitempty"`
}

type turnStats struct {
	Model      string `json:"model,omitempty"`
	Backend    string `json:"backend,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
	ToolCalls  int    `json:"tool_calls,omitempty"`
	Iterations int    `json:"iterations,omitempty"`
}

type toolUse struct {
	Name string `json:"name"`
}

// Outcomes of a turn (docs/protocol.md 3).
const (
	outcomeAnswered = "answered"
	outcomePassed   = "passed"
	outcomeFailed   = "failed"
	outcomeStopped  = "stopped"
)

type streamFrame struct {
	StreamID    string  `json:"stream_id"`
	Status      string  `json:"status"` // started, streaming, complete, cancelled
	Content     *string `json:"content,omitempty"`
	Phase       string  `json:"phase,omitempty"` // thinking, tool_call, writing
	PhaseDetail string  `json:"phase_detail,omitempty"`
	QueueID     string  `json:"queue_id,omitempty"`
	Generation  int64   `json:"generation,omitempty"`
}
