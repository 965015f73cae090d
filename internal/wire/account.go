package wire

// Self is the signed-in person: GET /api/me, login, signup and PATCH answers (desktop 2.5). Never wrapped.
type Self struct {
	ID                     string             `json:"id"`
	Type                   string             `json:"type"`
	DisplayName            string             `json:"displayName"`
	FirstName              *string            `json:"firstName"`
	LastName               *string            `json:"lastName"`
	Email                  string             `json:"email"`
	AvatarURL              *string            `json:"avatarUrl"`
	Description            string             `json:"description"`
	Metadata               Map                `json:"metadata"`
	Timezone               *string            `json:"timezone"`
	Locale                 *string            `json:"locale"`
	Location               Map                `json:"location,omitempty"`
	Online                 bool               `json:"online"`
	InsertedAt             Time               `json:"insertedAt"`
	OrganizationID         *string            `json:"organizationId"`
	ActiveOrganizationID   *string            `json:"activeOrganizationId"`
	Organizations          []SelfOrganization `json:"organizations"`
	PlatformAdmin          bool               `json:"platformAdmin"`
	Features               map[string]bool    `json:"features"`
	Subscription           *Subscription      `json:"subscription"`
	HostedHostID           *string            `json:"hostedHostId"`
	HostedHostRuntime      Map                `json:"hostedHostRuntime"`
	MarketingOptIn         bool               `json:"marketingOptIn"`
	AnalyticsOptIn         bool               `json:"analyticsOptIn"`
	AcceptedPolicyVersion  *string            `json:"acceptedPolicyVersion"`
	PolicyReacceptRequired bool               `json:"policyReacceptRequired"`
	Capabilities           []string           `json:"capabilities"`
	Status                 string             `json:"status"`
}

// Subscription is the plan of a person; null on a self-hosted server.
type Subscription struct {
	Plan   *string `json:"plan"`
	Status *string `json:"status"`
}

// SelfOrganization is one workspace of the signed-in person.
type SelfOrganization struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	AvatarURL  *string `json:"avatarUrl"`
	IsPersonal bool    `json:"isPersonal"`
	Role       string  `json:"role"`
}

// SignedIn answers login, signup and one-time codes (desktop 2.1). It must not carry a top-level status.
type SignedIn struct {
	Token       string `json:"token"`
	Participant Self   `json:"participant"`
}

// LoginRequest is the body of POST /api/auth/login.
type LoginRequest struct {
	Email    string `json:"email"`
	Password string `json:"password"`
}

// SignupRequest is the body of POST /api/auth/signup; older clients send displayName instead of the names.
type SignupRequest struct {
	Email          string `json:"email"`
	Password       string `json:"password"`
	FirstName      string `json:"firstName"`
	LastName       string `json:"lastName"`
	DisplayName    string `json:"displayName"`
	InviteCode     string `json:"inviteCode"`
	AcceptedTerms  bool   `json:"acceptedTerms"`
	BirthDate      string `json:"birthDate"`
	MarketingOptIn bool   `json:"marketingOptIn"`
	AnalyticsOptIn bool   `json:"analyticsOptIn"`
	Timezone       string `json:"timezone"`
	Locale         string `json:"locale"`
}

// SignupPolicy answers GET /api/auth/signup-policy.
type SignupPolicy struct {
	InviteRequired bool `json:"inviteRequired"`
}

// InviteCodeCheck answers GET /api/auth/invite-code/:code, always with 200.
type InviteCodeCheck struct {
	Valid  bool    `json:"valid"`
	Code   string  `json:"code,omitempty"`
	Email  *string `json:"email,omitempty"`
	Reason string  `json:"reason,omitempty"`
}

// AgentTokenRequest is the body of POST /api/auth/agent-token (bridge 1.2), snake_case.
type AgentTokenRequest struct {
	AgentID string `json:"agent_id"`
	APIKey  string `json:"api_key"`
}

// AgentToken is its answer.
type AgentToken struct {
	Token     string `json:"token"`
	ExpiresIn int    `json:"expiresIn"`
}

// OneTimeRequest is the body of POST /api/auth/one-time (ours): exchanges the code of a start link for a session.
type OneTimeRequest struct {
	Code string `json:"code"`
}

// PasswordChange is the body of PUT /api/me/password (ours).
type PasswordChange struct {
	CurrentPassword string `json:"currentPassword"`
	NewPassword     string `json:"newPassword"`
}

// Session is one sign-in of a person (ours).
type Session struct {
	ID         string `json:"id"`
	Current    bool   `json:"current"`
	UserAgent  string `json:"userAgent"`
	IP         string `json:"ip"`
	CreatedAt  Time   `json:"createdAt"`
	LastSeenAt Time   `json:"lastSeenAt"`
}

// Sessions answers GET /api/me/sessions (ours).
type Sessions struct {
	Sessions []Session `json:"sessions"`
}

// LLMKey is a stored model provider key; the secret itself never leaves (desktop 5.20).
type LLMKey struct {
	ID              string `json:"id"`
	Provider        string `json:"provider"`
	Label           string `json:"label"`
	Fingerprint     string `json:"fingerprint"`
	IsDefault       bool   `json:"isDefault"`
	Status          string `json:"status"`
	LastValidatedAt *Time  `json:"lastValidatedAt"`
	InsertedAt      Time   `json:"insertedAt"`
	UpdatedAt       Time   `json:"updatedAt"`
}

// LLMKeys lists them.
type LLMKeys struct {
	Keys []LLMKey `json:"keys"`
}

// LLMKeyAnswer wraps one.
type LLMKeyAnswer struct {
	Key LLMKey `json:"key"`
}

// ResolvedCredential answers GET /api/integrations/:provider/resolve: the one route that gives a secret, to its owner and the owner's agents.
type ResolvedCredential struct {
	Provider string `json:"provider"`
	Token    string `json:"token"`
}
