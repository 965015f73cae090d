package wire

// GatewayScopeRequest is a request to word a task (bridge 2.9).
type GatewayScopeRequest struct {
	ID             string `json:"id"`
	RequesterID    string `json:"requesterId"`
	AgentID        string `json:"agentId"`
	ConversationID string `json:"conversationId"`
	Content        string `json:"content"`
	Status         string `json:"status"`
	RequestContext Map    `json:"requestContext"`
	ExpiresAt      Time   `json:"expiresAt"`
}

// GatewayAgentQuery is a stateless question to the agent's own model (bridge 2.10).
type GatewayAgentQuery struct {
	ID           string  `json:"id"`
	AgentID      string  `json:"agentId"`
	Label        string  `json:"label"`
	SystemPrompt string  `json:"systemPrompt"`
	UserContent  string  `json:"userContent"`
	MaxTokens    *int    `json:"maxTokens"`
	Tier         *string `json:"tier"`
	Status       string  `json:"status"`
	ExpiresAt    Time    `json:"expiresAt"`
}

// ScopeCreate is the body of POST /api/gateway/scope-requests (bridge 3.2).
type ScopeCreate struct {
	AgentID        string `json:"agent_id"`
	ConversationID string `json:"conversation_id"`
	Content        string `json:"content"`
	RequestContext Map    `json:"request_context"`
}

// ScopeCollect is the body of …/collect; timeout is a string of seconds.
type ScopeCollect struct {
	ScopeRequestIDs []string `json:"scope_request_ids"`
	Timeout         Map      `json:"timeout"`
}

// ScopeResponses answers it, by agent id.
type ScopeResponses struct {
	Responses map[string]ScopeResponse `json:"responses"`
}

// ScopeResponse is one agent's wording.
type ScopeResponse struct {
	ID           string  `json:"id"`
	Title        string  `json:"title"`
	Description  string  `json:"description"`
	ScopeMessage *string `json:"scopeMessage"`
}

// ScopeRespond is the body of …/:id/respond.
type ScopeRespond struct {
	Title        string  `json:"title"`
	Description  string  `json:"description"`
	ScopeMessage *string `json:"scope_message"`
}

// QueryAnswer is the body of POST /api/gateway/agent-queries/:id/respond and …/fail.
type QueryAnswer struct {
	ExecutorID string  `json:"executor_id"`
	Text       string  `json:"text"`
	Error      string  `json:"error"`
	Model      *string `json:"model"`
	Usage      Map     `json:"usage"`
}

// SoulRevise is the body of POST /api/agents/:id/soul/revise, SoulProposal its answer: nothing is saved.
type SoulRevise struct {
	Instruction string `json:"instruction"`
}

// SoulProposal is the new text.
type SoulProposal struct {
	SoulMD string `json:"soulMd"`
}
