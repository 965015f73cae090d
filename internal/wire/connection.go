package wire

// API is an outside HTTP service that a person lets agents call. Its secret is
// write-only: a fingerprint tells it apart.
type API struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Description string         `json:"description"`
	BaseURL     string         `json:"baseUrl"`
	Auth        APIAuth        `json:"auth"`
	Shared      bool           `json:"shared"` // also on behalf of others than its owner
	Enabled     bool           `json:"enabled"`
	Operations  []APIOperation `json:"operations"`
	AgentIDs    []string       `json:"agentIds"`
	InsertedAt  Time           `json:"insertedAt"`
	UpdatedAt   Time           `json:"updatedAt"`
}

// APIAuth says how a service is signed in to.
type APIAuth struct {
	Kind        string  `json:"kind"` // none | bearer | basic | header | query
	Name        string  `json:"name,omitempty"`
	Fingerprint *string `json:"fingerprint,omitempty"`
}

// APIOperation is something that may be called.
type APIOperation struct {
	Method      string `json:"method"`
	Path        string `json:"path"`
	Description string `json:"description"`
	Ask         bool   `json:"ask"`
}

// APIs answers GET /api/me/apis.
type APIs struct {
	APIs []API `json:"apis"`
}

// APIAnswer is one service.
type APIAnswer struct {
	API API `json:"api"`
}

// APIEdit is the body of POST and PATCH: what is absent stays.
type APIEdit struct {
	Name        *string         `json:"name,omitempty"`
	Description *string         `json:"description,omitempty"`
	BaseURL     *string         `json:"baseUrl,omitempty"`
	Auth        *APIAuthEdit    `json:"auth,omitempty"`
	Shared      *bool           `json:"shared,omitempty"`
	Enabled     *bool           `json:"enabled,omitempty"`
	Operations  *[]APIOperation `json:"operations,omitempty"`
	AgentIDs    *[]string       `json:"agentIds,omitempty"`
}

// APIAuthEdit sets how a service is signed in to; a blank secret stays.
type APIAuthEdit struct {
	Kind   *string `json:"kind,omitempty"`
	Name   *string `json:"name,omitempty"`
	Secret *string `json:"secret,omitempty"`
}
