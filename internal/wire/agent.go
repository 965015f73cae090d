package wire

// Agent is an agent as its owner and workspace see it (desktop 5.4), and the agent's own /api/me (bridge 4.4).
type Agent struct {
	ID                     string           `json:"id"`
	Type                   string           `json:"type"`
	DisplayName            string           `json:"displayName"`
	Description            string           `json:"description"`
	AvatarURL              *string          `json:"avatarUrl"`
	AgentType              string           `json:"agentType"`
	OwnerID                string           `json:"ownerId"`
	Status                 string           `json:"status"`
	Runtime                string           `json:"runtime"`
	ExternalTool           *string          `json:"externalTool"`
	Presence               string           `json:"presence"`
	Online                 bool             `json:"online"`
	DeviceName             *string          `json:"deviceName"`
	DeviceNickname         *string          `json:"deviceNickname"`
	PresenceMode           string           `json:"presenceMode"`
	IdleTimeoutSeconds     *int             `json:"idleTimeoutSeconds"`
	LastActiveAt           *Time            `json:"lastActiveAt"`
	OrganizationID         *string          `json:"organizationId"`
	OrganizationIDs        []string         `json:"organizationIds"` // null = visible everywhere
	AssignedHostID         *string          `json:"assignedHostId"`
	ModelConfig            Map              `json:"modelConfig"`
	Metadata               Map              `json:"metadata"`
	Settings               Map              `json:"settings"`
	Capabilities           []string         `json:"capabilities"`
	StructuredCapabilities Map              `json:"structuredCapabilities"`
	SoulMD                 string           `json:"soulMd"`
	SoulMDInherited        bool             `json:"soulMdInherited"`
	LifecycleStage         string           `json:"lifecycleStage"`
	InsertedAt             Time             `json:"insertedAt"`
	UpdatedAt              Time             `json:"updatedAt"`
	ExternalSession        *ExternalSession `json:"externalSession,omitempty"` // for its owner
	KeyPrefix              string           `json:"keyPrefix,omitempty"`       // ours: which key is in force, for its owner
	APIKey                 string           `json:"apiKey,omitempty"`          // only in create and regenerate answers
	ResolvedTools          []Tool           `json:"resolvedTools,omitempty"`   // only in the agent's own /api/me
}

// Agents lists them.
type Agents struct {
	Agents []Agent `json:"agents"`
}

// AgentCreate is the body of POST /api/agents.
type AgentCreate struct {
	DisplayName     string   `json:"displayName"`
	Description     string   `json:"description"`
	AgentType       string   `json:"agentType"`
	Capabilities    []string `json:"capabilities"`
	AvatarURL       *string  `json:"avatarUrl"`
	ModelConfig     Map      `json:"modelConfig"`
	Metadata        Map      `json:"metadata"`
	OrganizationIDs []string `json:"organizationIds"`
	Runtime         string   `json:"runtime"`
	ExternalTool    string   `json:"externalTool"`
	SoulMD          string   `json:"soulMd"`
	Persona         *Persona `json:"persona"`
}

// Persona is what the creation form knows of an agent's character.
type Persona struct {
	Tone         *string  `json:"tone"`
	CustomTone   *string  `json:"customTone"`
	Specialties  []string `json:"specialties"`
	Description  string   `json:"description"`
	Instructions string   `json:"instructions"`
}

// AgentHealth is one row of GET /api/agents/health (desktop 5.5).
type AgentHealth struct {
	AgentID             string   `json:"agentId"`
	DisplayName         string   `json:"displayName"`
	AvatarURL           *string  `json:"avatarUrl"`
	HealthStatus        string   `json:"healthStatus"` // healthy | degraded | stuck | offline
	ExecutorCount       int      `json:"executorCount"`
	OnlineExecutorCount int      `json:"onlineExecutorCount"`
	StuckCount          int      `json:"stuckCount"`
	QueuedTasks         int      `json:"queuedTasks"`
	QueuedMessages      int      `json:"queuedMessages"`
	Blocker             *Blocker `json:"blocker"`
}

// Blocker says why an agent cannot answer.
type Blocker struct {
	Code       string  `json:"code"`
	Message    string  `json:"message,omitempty"`
	Detail     *string `json:"detail"`
	Reported   string  `json:"reported,omitempty"`
	MinVersion string  `json:"minVersion,omitempty"`
}

// AgentsHealth lists them.
type AgentsHealth struct {
	Agents []AgentHealth `json:"agents"`
}

// AgentHealthDetail answers GET /api/agents/:id/health; faults are ours.
type AgentHealthDetail struct {
	AgentID             string           `json:"agentId"`
	HealthStatus        string           `json:"healthStatus"`
	ExecutorCount       int              `json:"executorCount"`
	OnlineExecutorCount int              `json:"onlineExecutorCount"`
	StuckCount          int              `json:"stuckCount"`
	QueuedTasks         int              `json:"queuedTasks"`
	QueuedMessages      int              `json:"queuedMessages"`
	Blocker             *Blocker         `json:"blocker"`
	Executors           []ExecutorHealth `json:"executors"`
	StuckTasks          []StuckTask      `json:"stuckTasks"`
	UnackedMessages     []UnackedMessage `json:"unackedMessages"`
	Faults              []RuntimeFault   `json:"faults"`
}

// StuckTask is a task that an executor of the agent holds.
type StuckTask struct {
	ID             string `json:"id"`
	TaskID         string `json:"taskId"`
	Title          string `json:"title"`
	ClaimedAt      Time   `json:"claimedAt"`
	Status         string `json:"status"`
	ElapsedSeconds int64  `json:"elapsedSeconds"`
}

// ExecutorHealth is one executor of an agent.
type ExecutorHealth struct {
	ID               string  `json:"id"`
	DisplayName      string  `json:"displayName"`
	ExecutorKey      string  `json:"executorKey"`
	Status           string  `json:"status"`
	DeviceName       *string `json:"deviceName"`
	BridgeVersion    string  `json:"bridgeVersion"`
	MaxConcurrent    int     `json:"maxConcurrent"`
	LastPollAt       *Time   `json:"lastPollAt"`
	SecondsSincePoll int     `json:"secondsSincePoll"`
	ActiveTaskCount  int     `json:"activeTaskCount"`
	ProcessMetrics   Map     `json:"processMetrics"`
	PendingCommand   Map     `json:"pendingCommand"`
}

// UnackedMessage is a claim in flight.
type UnackedMessage struct {
	ID             string `json:"id"`
	MessageID      string `json:"messageId"`
	ConversationID string `json:"conversationId"`
	ClaimedAt      Time   `json:"claimedAt"`
	ElapsedSeconds int    `json:"elapsedSeconds"`
}

// RuntimeFault is what a bridge reported (bridge 3.6).
type RuntimeFault struct {
	ID             string  `json:"id"`
	Kind           string  `json:"kind"`
	ConversationID *string `json:"conversationId"`
	MessageID      *string `json:"messageId"`
	Detail         string  `json:"detail"`
	InsertedAt     Time    `json:"insertedAt"`
}

// Turn is a finished turn, shown on the agent page (ours).
type Turn struct {
	ID              string  `json:"id"`
	ConversationID  string  `json:"conversationId"`
	MessageID       string  `json:"messageId"`
	AnswerID        *string `json:"answerId"`
	Outcome         string  `json:"outcome"`
	ErrorCode       *string `json:"errorCode"`
	ErrorMessage    *string `json:"errorMessage"`
	QueuedAt        Time    `json:"queuedAt"`
	StartedAt       *Time   `json:"startedAt"`
	EndedAt         Time    `json:"endedAt"`
	DurationMS      *int64  `json:"durationMs"`
	Model           *string `json:"model"`
	Backend         *string `json:"backend"`
	InputTokens     int64   `json:"inputTokens"`
	OutputTokens    int64   `json:"outputTokens"`
	CacheReadTokens int64   `json:"cacheReadTokens"`
	ToolCalls       int     `json:"toolCalls"`
}

// Turns answers GET /api/agents/:id/turns?limit=&before=.
type Turns struct {
	Turns   []Turn `json:"turns"`
	HasMore bool   `json:"hasMore"`
}

// Notice is a one-sentence answer of maintenance endpoints.
type Notice struct {
	Message string `json:"message"`
}

// SetupLocal answers GET /api/setup/local (ours): what this machine offers for a first real agent.
type SetupLocal struct {
	DemoAgentID *string      `json:"demoAgentId"`
	Offers      []SetupOffer `json:"offers"`
}

// SetupOffer is one backend that was found here.
type SetupOffer struct {
	Backend string `json:"backend"`
	Label   string `json:"label"`
	Ready   bool   `json:"ready"`
}

// SetupLocalRequest is the body of POST /api/setup/local.
type SetupLocalRequest struct {
	Backend     string `json:"backend"`
	DisplayName string `json:"displayName"`
}
