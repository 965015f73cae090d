package wire

// FieldLimits answers GET /api/field-limits.
type FieldLimits struct {
	Agent   AgentFieldLimits   `json:"agent"`
	Profile ProfileFieldLimits `json:"profile"`
}

// AgentFieldLimits are in characters.
type AgentFieldLimits struct {
	DisplayName   int `json:"displayName"`
	Description   int `json:"description"`
	CreationBrief int `json:"creationBrief"`
}

// ProfileFieldLimits are in characters.
type ProfileFieldLimits struct {
	DisplayName int `json:"displayName"`
	Description int `json:"description"`
}

// AgentType is one kind of agent.
type AgentType struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Description string `json:"description"`
}

// AgentTypes answers GET /api/agent-types.
type AgentTypes struct {
	Types []AgentType `json:"types"`
}

// ModelCatalog answers GET /api/models/providers (desktop 5.20).
type ModelCatalog struct {
	Providers       []CatalogProvider `json:"providers"`
	LLMKeyProviders []LLMKeyProvider  `json:"llmKeyProviders"`
}

// CatalogProvider is one backend and its models, in the server's order.
type CatalogProvider struct {
	ID             string         `json:"id"`
	Label          string         `json:"label"`
	RequiresLLMKey bool           `json:"requiresLlmKey"`
	SupportedModes []string       `json:"supportedModes"`
	Models         []CatalogModel `json:"models"`
	CLIConnections []string       `json:"cliConnections,omitempty"`
}

// CatalogModel is one model.
type CatalogModel struct {
	ID       string            `json:"id"`
	Label    string            `json:"label"`
	Runtimes map[string]string `json:"runtimes,omitempty"`
	Legacy   bool              `json:"legacy,omitempty"`
}

// LLMKeyProvider is a provider that takes a stored key.
type LLMKeyProvider struct {
	ID    string `json:"id"`
	Label string `json:"label"`
}
