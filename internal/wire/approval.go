package wire

// PermissionAsk is the body of POST /api/agent/permission-requests (bridge 3.8; ours: docs/protocol.md 9).
type PermissionAsk struct {
	ToolName       string `json:"toolName"`
	ToolInput      Map    `json:"toolInput"`
	Description    string `json:"description"`
	ConversationID string `json:"conversationId"`
	TaskID         string `json:"taskId"`
	Durable        bool   `json:"durable,omitempty"`
	TTLSeconds     *int   `json:"ttlSeconds,omitempty"`
	ExecutorID     string `json:"executorId,omitempty"`
	RunID          string `json:"runId,omitempty"`
	ToolUseID      string `json:"toolUseId,omitempty"`
	Resume         Map    `json:"resume,omitempty"`
	Reason         string `json:"reason,omitempty"`
	TurnID         string `json:"turnId,omitempty"`         // queue row of the delivery whose run asks
	TurnGeneration int64  `json:"turnGeneration,omitempty"` // and its claim
}

// PermissionState answers the agent's side; status is one of the contract's four words.
type PermissionState struct {
	Status     string `json:"status"` // pending | approved | denied | expired
	RequestID  string `json:"requestId"`
	ID         string `json:"id"`
	State      string `json:"state"` // pending | approved | edited | denied | expired | superseded | cancelled
	ActionHash string `json:"actionHash"`
	ExpiresAt  Time   `json:"expiresAt"`
	Text       string `json:"text,omitempty"`
	Input      Map    `json:"input,omitempty"` // of an edited one
}

// PermissionRedeem is the body of POST /api/agent/permission-requests/:id/redeem.
type PermissionRedeem struct {
	ToolName  string `json:"toolName"`
	ToolInput Map    `json:"toolInput"`
	UseKey    string `json:"useKey"`
}

// PermissionRedeemed is its answer.
type PermissionRedeemed struct {
	Status     string `json:"status"` // approved
	RequestID  string `json:"requestId"`
	ActionHash string `json:"actionHash"`
}

// PermissionRequest is a question to those who may decide (desktop 5.8); keys from state on are ours.
type PermissionRequest struct {
	ID                   string   `json:"id"`
	AgentID              string   `json:"agentId"`
	OwnerID              string   `json:"ownerId"`
	ConversationID       *string  `json:"conversationId"`
	TaskID               *string  `json:"taskId"`
	ToolName             string   `json:"toolName"`
	ToolInput            Map      `json:"toolInput"`
	Description          *string  `json:"description"`
	Status               string   `json:"status"` // pending | approved | denied | expired
	DecisionScope        *string  `json:"decisionScope"`
	ScopeKind            string   `json:"scopeKind"` // exec | dir | host | domain | exact | any
	ScopeFacet           *string  `json:"scopeFacet"`
	ExpiresAt            Time     `json:"expiresAt"`
	InsertedAt           Time     `json:"insertedAt"`
	State                string   `json:"state"`
	Action               string   `json:"action"` // canonical JSON, what the hash is of
	ActionHash           string   `json:"actionHash"`
	Reason               *string  `json:"reason"`
	Risk                 string   `json:"risk"` // low | medium | high | critical
	Durable              bool     `json:"durable"`
	AgentName            string   `json:"agentName"`
	ConversationTitle    *string  `json:"conversationTitle"`
	Scopes               []string `json:"scopes"` // once | exact | room | pattern
	DecidedBy            *string  `json:"decidedBy"`
	DecidedByName        *string  `json:"decidedByName"`
	DecidedAt            *Time    `json:"decidedAt"`
	DecisionText         *string  `json:"decisionText"`
	EditedInput          Map      `json:"editedInput"`
	GrantID              *string  `json:"grantId"`
	Outcome              *string  `json:"outcome"` // resumed | failed: whether the run heard of it
	NotificationCategory *string  `json:"notificationCategory,omitempty"`
	DecidersNeeded       int      `json:"decidersNeeded"` // different people who have to allow it: 1 or 2
	AllowedBy            []string `json:"allowedBy"`      // who of two has
	AllowedByNames       []string `json:"allowedByNames"`
	Changed              bool     `json:"changed"` // open, and one of two has changed what would run: toolInput, action and actionHash are the change
}

// PermissionRequests answers GET /api/permission-requests.
type PermissionRequests struct {
	Requests []PermissionRequest `json:"requests"`
}

// PermissionResolve is the body of POST /api/permission-requests/:id/resolve; keys from scope on are ours.
type PermissionResolve struct {
	Decision  string `json:"decision"` // approve | deny | edit
	Always    bool   `json:"always"`
	Scope     string `json:"scope,omitempty"`
	GrantDays int    `json:"grantDays,omitempty"`
	Text      string `json:"text,omitempty"`
	Input     Map    `json:"input,omitempty"`
	// ActionHash names what the person saw; it is needed once one of two deciders has changed it.
	ActionHash string `json:"actionHash,omitempty"`
}

// ApprovalRuleSet is the body of PUT …/approval-rule: from which risk on two people decide.
type ApprovalRuleSet struct {
	LeastRisk  string   `json:"leastRisk"`  // low | medium | high | critical
	DeciderIDs []string `json:"deciderIds"` // beside the agent's owner
}

// ApprovalRule is such a rule with the names that people read.
type ApprovalRule struct {
	LeastRisk  string        `json:"leastRisk"`
	DeciderIDs []string      `json:"deciderIds"`
	Deciders   []NamedPerson `json:"deciders"` // who they are, in the same order
	SetBy      NamedPerson   `json:"setBy"`
	UpdatedAt  Time          `json:"updatedAt"`
}

// NamedPerson is somebody of whom only the name is needed.
type NamedPerson struct {
	ID          string `json:"id"`
	DisplayName string `json:"displayName"`
}

// ApprovalRuleAnswer answers …/approval-rule; rule is null where one person decides.
type ApprovalRuleAnswer struct {
	Rule *ApprovalRule `json:"rule"`
}

// ApprovalGrant is a standing yes. toolTitle and covers are in English; what they are made of stands beside them.
type ApprovalGrant struct {
	ID                string      `json:"id"`
	AgentID           string      `json:"agentId"`
	AgentName         string      `json:"agentName"`
	ToolName          string      `json:"toolName"`
	ToolTitle         string      `json:"toolTitle"` // what the tool does, in words
	ScopeKind         string      `json:"scopeKind"`
	ScopeFacet        *string     `json:"scopeFacet"`
	Covers            string      `json:"covers"`            // which calls of the tool, in words
	Action            *string     `json:"action"`            // scopeKind exact: canonical JSON of the one call, its first 4,000 characters
	ActionCut         bool        `json:"actionCut"`         // there is more of it
	ConversationID    *string     `json:"conversationId"`    // null: wherever the agent works, or in a room that is gone
	ConversationTitle *string     `json:"conversationTitle"` // null also of a direct room
	RoomGone          bool        `json:"roomGone"`
	GrantedBy         NamedPerson `json:"grantedBy"`
	Uses              int64       `json:"uses"`
	LastUsedAt        *Time       `json:"lastUsedAt"`
	ExpiresAt         Time        `json:"expiresAt"`
	InsertedAt        Time        `json:"insertedAt"`
}

// ApprovalGrants answers GET /api/approval-grants.
type ApprovalGrants struct {
	Grants []ApprovalGrant `json:"grants"`
}

// GatewayApproval tells a run what was decided (docs/protocol.md 9).
type GatewayApproval struct {
	ID             string  `json:"id"`
	Generation     int64   `json:"generation"`
	LeaseSeconds   int     `json:"leaseSeconds"`
	RequestID      string  `json:"requestId"`
	Status         string  `json:"status"` // approved | edited | denied | expired
	ActionHash     string  `json:"actionHash"`
	ToolName       string  `json:"toolName"`
	Input          Map     `json:"input"`
	Edited         bool    `json:"edited"`
	Text           string  `json:"text,omitempty"`
	Resume         Map     `json:"resume"`
	RunID          *string `json:"runId"`
	ToolUseID      *string `json:"toolUseId"`
	ConversationID *string `json:"conversationId"`
	TaskID         *string `json:"taskId"`
}

// ApprovalAck is the body of POST /api/gateway/approvals/:id/ack and, without outcome, of …/release.
type ApprovalAck struct {
	ExecutorID string `json:"executor_id"`
	Generation int64  `json:"generation"`
	Outcome    string `json:"outcome,omitempty"` // resumed | failed
}

// CredentialRequest is an agent's question for a secret (desktop 5.8); keys from fingerprint on are ours.
type CredentialRequest struct {
	ID             string  `json:"id"`
	AgentID        string  `json:"agentId"`
	AgentName      *string `json:"agentName"`
	OwnerID        string  `json:"ownerId"`
	ConversationID *string `json:"conversationId"`
	RoomTitle      *string `json:"conversationTitle"` // ours
	Label          string  `json:"label"`
	Reason         *string `json:"reason"`
	Endpoint       *string `json:"endpoint"`
	AuthMode       *string `json:"authMode"`
	Status         string  `json:"status"` // pending | fulfilled | denied | expired
	CredentialID   *string `json:"credentialId"`
	ExpiresAt      Time    `json:"expiresAt"`
	InsertedAt     Time    `json:"insertedAt"`
	TaskID         *string `json:"taskId"`
	Fingerprint    *string `json:"fingerprint"`
	Uses           int64   `json:"uses"`
	LastUsedAt     *Time   `json:"lastUsedAt"`
}

// CredentialRequests answers GET /api/credential-requests.
type CredentialRequests struct {
	Requests []CredentialRequest `json:"requests"`
}

// CredentialFulfil is the body of POST /api/credential-requests/:id/fulfill.
type CredentialFulfil struct {
	Value string `json:"value"`
}

// Decisions answers GET /api/me/decisions.
type Decisions struct {
	Decisions []Decision `json:"decisions"`
}

// Decision is one thing that waits for the caller (desktop 5.22, GraphDecision).
type Decision struct {
	Kind           string         `json:"kind"` // permission_request | credential_request | ask | member_request | budget_stop
	ID             string         `json:"id"`
	SourceID       string         `json:"sourceId"`
	ConversationID *string        `json:"conversationId"`
	TaskID         *string        `json:"taskId"`
	Agent          *DecisionAgent `json:"agent"`
	InsertedAt     Time           `json:"insertedAt"`
	RoomTitle      *string        `json:"conversationTitle"` // ours
	Prompt         *string        `json:"prompt,omitempty"`
	Description    *string        `json:"description,omitempty"`
	Question       *string        `json:"question,omitempty"`
	Label          *string        `json:"label,omitempty"`
	Title          *string        `json:"title,omitempty"`
	ToolName       *string        `json:"toolName,omitempty"`
	Options        []string       `json:"options,omitempty"`      // ours: of an ask
	Field          *string        `json:"field,omitempty"`        // ours: of an ask for text, the name of what is filled in
	DefaultValue   *string        `json:"defaultValue,omitempty"` // ours: of an ask
	ExpiresAt      Time           `json:"expiresAt"`              // ours
	Used           *int64         `json:"used,omitempty"`         // ours: of a budget stop, tokens of the day
	TokensPerDay   *int64         `json:"tokensPerDay,omitempty"` // ours: of a budget stop
}

// PastDecisions answers GET /api/me/decisions?state=decided, newest first (ours).
type PastDecisions struct {
	Decisions []PastDecision `json:"decisions"`
	Next      *string        `json:"next"` // opaque: `before` of the next page; null at the end
}

// PastDecision is something that waited for the caller and is over. Names are those of now, also of what is gone.
type PastDecision struct {
	Kind              string             `json:"kind"` // as of a Decision
	ID                string             `json:"id"`
	SourceID          string             `json:"sourceId"`
	Outcome           string             `json:"outcome"` // approved | edited | denied | expired | superseded | cancelled | answered | fulfilled | continued | raised | lifted | kept
	DecidedBy         *NamedPerson       `json:"decidedBy"`
	Agent             NamedPerson        `json:"agent"`
	ConversationID    *string            `json:"conversationId"` // null when there is no room to go to
	ConversationTitle *string            `json:"conversationTitle"`
	TaskID            *string            `json:"taskId"`
	InsertedAt        Time               `json:"insertedAt"`
	EndedAt           Time               `json:"endedAt"`
	Title             *string            `json:"title,omitempty"`       // of the task
	Description       *string            `json:"description,omitempty"` // why it was asked
	Question          *string            `json:"question,omitempty"`    // of an ask
	Options           []string           `json:"options,omitempty"`     // of an ask
	Answer            *string            `json:"answer,omitempty"`      // of an ask
	Label             *string            `json:"label,omitempty"`       // of a credential: its name; of a member request: whom
	ParticipantID     *string            `json:"participantId,omitempty"`
	ParticipantType   *string            `json:"participantType,omitempty"` // human | agent
	Endpoint          *string            `json:"endpoint,omitempty"`        // of a credential
	Fingerprint       *string            `json:"fingerprint,omitempty"`     // of a credential that was given
	TakenAway         bool               `json:"takenAway,omitempty"`       // it was given and taken away again
	Uses              *int64             `json:"uses,omitempty"`            // of a credential that was given
	Used              *int64             `json:"used,omitempty"`            // of a budget stop, tokens of the day
	TokensPerDay      *int64             `json:"tokensPerDay,omitempty"`    // of a budget stop: the limit that it met
	RaisedTo          *int64             `json:"raisedTo,omitempty"`        // of a budget stop: the limit since
	Request           *PermissionRequest `json:"request,omitempty"`         // of a permission_request
	Grant             *PastGrant         `json:"grant,omitempty"`           // of a permission_request: the standing yes that came of it
}

// PastGrant is how a standing yes stands.
type PastGrant struct {
	ID        string `json:"id"`
	Uses      int64  `json:"uses"`
	ExpiresAt Time   `json:"expiresAt"`
	RevokedAt *Time  `json:"revokedAt"`
}

// MemberRequest is an agent's question to let somebody into a room; event member_request carries it open and decided.
type MemberRequest struct {
	ID                string  `json:"id"`
	ConversationID    string  `json:"conversationId"`
	ConversationTitle *string `json:"conversationTitle"`
	AgentID           string  `json:"agentId"`
	AgentName         string  `json:"agentName"`
	ParticipantID     string  `json:"participantId"`
	ParticipantName   string  `json:"participantName"`
	ParticipantType   string  `json:"participantType"` // human | agent
	TaskID            *string `json:"taskId"`
	Reason            *string `json:"reason"`
	Status            string  `json:"status"` // pending | approved | denied | expired
	DecidedBy         *string `json:"decidedBy"`
	ExpiresAt         Time    `json:"expiresAt"`
	InsertedAt        Time    `json:"insertedAt"`
}

// MemberResolve is the body of POST /api/member-requests/:id/resolve.
type MemberResolve struct {
	Decision string `json:"decision"` // approve | deny
}

// AgentBudget is how many tokens an agent may use in a day of its owner, and how it stands.
type AgentBudget struct {
	TokensPerDay int64   `json:"tokensPerDay"`
	UsedToday    int64   `json:"usedToday"` // input, output and written cache
	Timezone     string  `json:"timezone"`
	DayEndsAt    Time    `json:"dayEndsAt"`
	Stopped      bool    `json:"stopped"`
	Decision     *string `json:"decision"` // of today's stop: pending | continued | raised | lifted | kept; null: there was none
}

// AgentBudgetAnswer answers …/budget; budget is null without a bound.
type AgentBudgetAnswer struct {
	Budget *AgentBudget `json:"budget"`
}

// BudgetSet is the body of PUT /api/agents/:id/budget.
type BudgetSet struct {
	TokensPerDay int64 `json:"tokensPerDay"`
}

// BudgetResolve is the body of POST /api/budget-stops/:id/resolve.
type BudgetResolve struct {
	Decision     string `json:"decision"` // continue | raise | keep
	TokensPerDay int64  `json:"tokensPerDay,omitempty"`
}

// BudgetStop is the day on which an agent had work and no tokens left; event budget_stop carries it open and decided.
type BudgetStop struct {
	ID           string `json:"id"`
	AgentID      string `json:"agentId"`
	AgentName    string `json:"agentName,omitempty"`
	TokensPerDay int64  `json:"tokensPerDay"`
	Used         int64  `json:"used"`
	Status       string `json:"status"` // pending | continued | raised | lifted | kept
	ExpiresAt    Time   `json:"expiresAt"`
	InsertedAt   Time   `json:"insertedAt"`
}

// DecisionAgent is who waits.
type DecisionAgent struct {
	ID          string  `json:"id"`
	DisplayName *string `json:"displayName"`
}
