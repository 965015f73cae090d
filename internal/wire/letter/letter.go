// Package letter is the wire of encrypted letters: the seven calls of a relay and
// what we add to them, the signed text of a call, canonical JSON, addresses, and
// the error texts that other programs look for. The relay and its clients share
// it, so that both sides compute one thing in one place. Standard library only.
//
// Names and shapes are those of the retalk 0.3 protocol (contract letters.md,
// section 1); what is ours alone says so.
package letter

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"strings"
)

// The tools of a relay.
const (
	ToolPublishKeys  = "publish_keys"
	ToolCountKeys    = "count_keys"
	ToolGetKeys      = "get_keys"
	ToolClaimKey     = "claim_key"
	ToolSendMessage  = "send_message"
	ToolReadMessages = "read_messages"
	ToolNack         = "nack"

	// Ours; Info tells whether a relay has them.

	ToolEvents  = "events"           // the push hint, an event stream
	ToolLease   = "lease_messages"   // read, and delete only when confirmed
	ToolConfirm = "confirm_messages" // what was leased has arrived
	ToolSenders = "waiting_senders"  // whose letters wait
)

// Parts of texts that programs look for (letters.md 1.1). Longer texts contain them.
const (
	TextReplay           = "replay detected: nonce already used"
	TextStale            = "stale or future timestamp"
	TextBadSignature     = "bad signature"
	TextUnknownPeer      = "unknown peer or no published keys: " // and the address
	TextUnknownRecipient = "unknown recipient: "                 // and the address
	TextMailboxFull      = "mailbox full"
	TextMailboxSender    = "mailbox full for sender"
	TextNoKeys           = "no one-time keys left for peer"
	TextForeignKeys      = "auth keys do not hash to user_id"
	TextBadNack          = "bad nack signature"
	TextAPIKey           = "valid API key required to use this relay"
	TextUnknownAction    = "unknown admin action: " // and the action
	TextAdminAuth        = "admin auth required"
	TextNotFound         = "not found"
	TextRateLimit        = "rate limit exceeded; slow down and retry"
	TextBodyTooLarge     = "request body too large: %d bytes (max %d)"
)

// Times and sizes of the protocol.
const (
	ClockWindow = 150 // seconds a timestamp may be off, both ways
	AddressLen  = 32
)

// Address is the user id of a key pair set: the first 32 hex characters of SHA-256
// over both public keys as they stand on the wire (letters.md 2.2).
func Address(identityKey, signingKey string) string {
	sum := sha256.Sum256([]byte(identityKey + "|" + signingKey))
	return hex.EncodeToString(sum[:])[:AddressLen]
}

// IsAddress reports whether s has the form of an address: 32 lower-case hex digits.
func IsAddress(s string) bool { return len(s) == AddressLen && isHex(s) }

// IsHash reports whether s has the form of a hash: 64 lower-case hex digits.
func IsHash(s string) bool { return len(s) == 2*sha256.Size && isHex(s) }

func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }

// BodyHash names a ciphertext: hex SHA-256 over the base64 text as it is on the
// wire, not over the bytes it stands for (letters.md 1.3).
func BodyHash(body string) string {
	sum := sha256.Sum256([]byte(body))
	return hex.EncodeToString(sum[:])
}

// NackText is what a recipient signs to refuse a ciphertext (letters.md 1.3, 1.4).
func NackText(address, hash string) []byte { return []byte("nack|" + address + "|" + hash) }

// AddressText is what an identity signs to say that an agent of an agntchat server is written to with it, at that relay (ours).
// It begins unlike the text of any call and of a refusal.
func AddressText(agentID, address, relay string) []byte {
	return []byte("agntchat-letter-address|" + agentID + "|" + address + "|" + relay)
}

// Auth proves who makes a call (letters.md 1.2).
type Auth struct {
	Fingerprint string `json:"fingerprint"`
	IdentityKey string `json:"identity_key"` // base64 without padding
	SigningKey  string `json:"signing_key"`  // base64 without padding
	Timestamp   string `json:"timestamp"`    // decimal Unix seconds
	Nonce       string `json:"nonce"`        // used once
	Signature   string `json:"signature"`    // base64
}

// SignedText is what Auth.Signature covers. args are the call's arguments without
// `auth`; audience is the relay's address exactly as the client is configured.
func SignedText(tool, audience string, a Auth, args any) ([]byte, error) {
	hash, err := ArgsHash(args)
	if err != nil {
		return nil, err
	}
	return []byte(strings.Join([]string{tool, audience, a.Fingerprint, a.Timestamp, a.Nonce, hash}, "|")), nil
}

// Sign fills Auth.Signature. All other members of a must be set.
func (a *Auth) Sign(key ed25519.PrivateKey, tool, audience string, args any) error {
	text, err := SignedText(tool, audience, *a, args)
	if err != nil {
		return err
	}
	a.Signature = base64.RawStdEncoding.EncodeToString(ed25519.Sign(key, text))
	return nil
}

var errBadKey = errors.New("letter: not a key or signature")

// Verify reports whether signature, base64 with or without padding, is that of
// signingKey over text. The error says that one of them is not base64 of the right
// length. Bodies of letters are opaque and not looked at (letters.md 1.3).
func Verify(signingKey string, text []byte, signature string) (bool, error) {
	key, err := decode(signingKey, ed25519.PublicKeySize)
	if err != nil {
		return false, err
	}
	sig, err := decode(signature, ed25519.SignatureSize)
	if err != nil {
		return false, err
	}
	return ed25519.Verify(key, text, sig), nil
}

// IsKey reports whether s is a public key as the wire has it: 32 bytes in base64
// without padding.
func IsKey(s string) bool {
	_, err := decode(s, ed25519.PublicKeySize)
	return err == nil && !strings.HasSuffix(s, "=")
}

// decode reads base64 as the clients' own library does: with its padding or without, and nothing looser. Line breaks, stray bits
// after the last byte or too much padding would give one key, and so one person, several texts.
func decode(s string, size int) ([]byte, error) {
	enc := base64.RawStdEncoding
	if strings.HasSuffix(s, "=") {
		enc = base64.StdEncoding
	}
	b, err := enc.Strict().DecodeString(s)
	if err != nil || len(b) != size || strings.ContainsAny(s, "\r\n") {
		return nil, errBadKey
	}
	return b, nil
}
