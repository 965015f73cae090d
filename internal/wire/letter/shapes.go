package letter

import "encoding/json"

// Request is the body of every call: POST to any path of the relay. Args holds
// the tool's arguments and `auth`.
type Request struct {
	Tool string         `json:"tool"`
	Args map[string]any `json:"args"`
}

// NewRequest puts arguments and proof together. args is not changed.
func NewRequest(tool string, a Auth, args map[string]any) Request {
	all := make(map[string]any, len(args)+1)
	for k, v := range args {
		all[k] = v
	}
	all["auth"] = a
	return Request{Tool: tool, Args: all}
}

// Error is the body of every answer that is not 200.
type Error struct {
	Error string `json:"error"`
}

// Info is the answer to GET …/info. A relay that is not ours gives
// max_group_size only.
type Info struct {
	MaxGroupSize int `json:"max_group_size"`
	// Events is where to POST the tool `events`, below the relay's address (ours);
	// empty: there is no push, poll.
	Events string `json:"events,omitempty"`
	// Tools are the tools beyond retalk's seven (ours).
	Tools []string `json:"tools,omitempty"`
	// Limits are what the relay refuses beyond (ours).
	Limits *Limits `json:"limits,omitempty"`
}

// Limits are a relay's quotas; 0 stands for none.
type Limits struct {
	MaxBody             int64 `json:"max_body"` // bytes of a request
	RatePerMinute       int   `json:"rate_per_minute"`
	RateBurst           int   `json:"rate_burst"`
	MaxMailbox          int   `json:"max_mailbox"`            // letters that wait for one recipient
	MaxMailboxPerSender int   `json:"max_mailbox_per_sender"` // of these, from one sender
	MaxMailboxBytes     int64 `json:"max_mailbox_bytes"`      // bytes that wait for one recipient
	MaxOneTimeKeys      int   `json:"max_one_time_keys"`      // unclaimed keys of one address
	LetterTTL           int64 `json:"letter_ttl"`             // seconds until an uncollected letter is deleted
	RefusedTTL          int64 `json:"refused_ttl"`            // seconds a refusal is remembered
}

// Published answers publish_keys. Args: identity_key, signing_key, one_time_keys
// (object of key id to key), fallback_key (object with one entry, or null).
type Published struct {
	OK               bool   `json:"ok"`
	Fingerprint      string `json:"fingerprint"`
	OneTimeKeysAdded int    `json:"one_time_keys_added"`
	FallbackKeySet   bool   `json:"fallback_key_set"`
}

// KeyCount answers count_keys, which has no args. HasFallback is false when the
// relay does not know the caller.
type KeyCount struct {
	Unclaimed   int  `json:"unclaimed"`
	HasFallback bool `json:"has_fallback"`
}

// Keys answers get_keys. Args: peer.
type Keys struct {
	IdentityKey string `json:"identity_key"`
	SigningKey  string `json:"signing_key"`
}

// ClaimedKey answers claim_key. Args: peer. Fallback says that no one-time key was
// left and the key may be given again.
type ClaimedKey struct {
	IdentityKey string `json:"identity_key"`
	SigningKey  string `json:"signing_key"`
	KeyID       string `json:"key_id"`
	OneTimeKey  string `json:"one_time_key"`
	Fallback    bool   `json:"fallback"`
}

// Sent answers send_message when the letter is kept. Args: to, mtype (integer),
// body. TS is Unix seconds.
type Sent struct {
	MessageID int64   `json:"message_id"`
	TS        float64 `json:"ts"`
}

// Refused answers send_message when the recipient refused this very ciphertext:
// Sig is the recipient's, over NackText.
type Refused struct {
	Refused bool   `json:"refused"`
	Hash    string `json:"hash"`
	Sig     string `json:"sig"`
}

// SendResult reads either answer of send_message.
type SendResult struct {
	Sent
	Refused
}

// Message is one letter. read_messages answers an array of them in the order of
// arrival. Args, signed only when they are set: peer (only from that sender), peek
// (leave them where they are).
type Message struct {
	MessageID int64   `json:"message_id"`
	TS        float64 `json:"ts"`
	From      string  `json:"from"`
	MType     int64   `json:"mtype"`
	Body      string  `json:"body"`
}

// Leased answers lease_messages (ours). Args: peer, signed only when set. The
// letters stay at the relay until confirm_messages names the lease, or come again
// when Seconds have passed.
type Leased struct {
	Lease    string    `json:"lease"` // empty when there is no letter
	Seconds  int       `json:"seconds"`
	Messages []Message `json:"messages"`
}

// Confirmed answers confirm_messages (ours). Args: lease.
type Confirmed struct {
	Deleted int `json:"deleted"`
}

// Waiting answers waiting_senders (ours, no args): the addresses whose letters could be handed out now, each once. Nothing is
// handed out by that. More says that there are further ones: then all have to be asked for.
type Waiting struct {
	Senders []string `json:"senders"`
	More    bool     `json:"more"`
}

// OK answers nack. Args: hash (hex SHA-256 of the body), sig over NackText.
type OK struct {
	OK bool `json:"ok"`
}

// EventName is the only event of the stream that the tool `events` (ours, no args)
// opens: letters may wait, look. Its data is {} always. One comes at the start.
const EventName = "mail"

// APIKey is one row of the admin list.
type APIKey struct {
	KeyHash  string  `json:"key_hash"`
	Label    string  `json:"label"`
	Created  float64 `json:"created"` // Unix seconds
	Disabled bool    `json:"disabled"`
}

// APIKeys answers the admin action list.
type APIKeys struct {
	Keys []APIKey `json:"keys"`
}

// NewAPIKey answers the admin action create: the key is shown this once.
type NewAPIKey struct {
	Key     string `json:"key"`
	KeyHash string `json:"key_hash"`
	Label   string `json:"label"`
}

// Updated answers the admin actions disable and enable.
type Updated struct {
	Updated int `json:"updated"`
}

// Deleted answers the admin action delete.
type Deleted struct {
	Deleted int `json:"deleted"`
}

// ErrorText reads the error member of an answer's body; empty when there is none.
func ErrorText(body []byte) string {
	var e Error
	if json.Unmarshal(body, &e) != nil {
		return ""
	}
	return e.Error
}
