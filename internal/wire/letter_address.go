package wire

// LetterAddress is where an agent can be written to with encrypted letters, as its bridge reported it (ours). The address is the
// hash of both keys; whoever fetches keys for it checks that.
type LetterAddress struct {
	Fingerprint string `json:"fingerprint"` // 32 hexadecimal characters
	IdentityKey string `json:"identityKey"` // base64 without padding
	SigningKey  string `json:"signingKey"`  // base64 without padding
	RelayURL    string `json:"relayUrl"`
	Since       Time   `json:"since"`
}

// FormerLetterAddress is one that is no longer in force.
type FormerLetterAddress struct {
	Fingerprint string `json:"fingerprint"`
	Since       Time   `json:"since"`
	Until       Time   `json:"until"`
}

// LetterAddresses answers GET /api/agents/:id/letter-address (ours).
type LetterAddresses struct {
	LetterAddress *LetterAddress        `json:"letterAddress"` // null when the agent has none
	Former        []FormerLetterAddress `json:"former"`        // the newest first
}

// LetterAddressPut is the body of PUT /api/agents/me/letter-address (ours). The signature is that of the signing key over the text
// of letter.AddressText: only who has the keys can report them.
type LetterAddressPut struct {
	Fingerprint string `json:"fingerprint"`
	IdentityKey string `json:"identityKey"`
	SigningKey  string `json:"signingKey"`
	RelayURL    string `json:"relayUrl"`
	Signature   string `json:"signature"` // base64
}
