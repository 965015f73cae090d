package wire

// Participant is another person or an agent, as others see it (desktop 2.5, bridge 4.3).
type Participant struct {
	ID           string   `json:"id"`
	Type         string   `json:"type"` // human | agent
	DisplayName  string   `json:"displayName"`
	AvatarURL    *string  `json:"avatarUrl"`
	Description  string   `json:"description,omitempty"`
	MaskedEmail  string   `json:"maskedEmail,omitempty"` // only in search results
	Status       string   `json:"status"`
	Online       bool     `json:"online"`
	Capabilities []string `json:"capabilities,omitempty"`
	OwnerID      *string  `json:"ownerId,omitempty"`
	ExternalTool *string  `json:"externalTool,omitempty"`
	InsertedAt   *Time    `json:"insertedAt,omitempty"`
}

// Sender is the short form inside messages.
type Sender struct {
	ID          string  `json:"id"`
	Type        string  `json:"type"`
	DisplayName string  `json:"displayName"`
	AvatarURL   *string `json:"avatarUrl"`
}

// People answers GET /api/people/search.
type People struct {
	People []Participant `json:"people"`
}
