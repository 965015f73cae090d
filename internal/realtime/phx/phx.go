// Package phx is the codec of Phoenix Channels, serializer V2: a message is the
// JSON array [join_ref, ref, topic, event, payload] in one text frame.
//
// It owns the array and the names that belong to Phoenix itself. It knows no
// sockets, no topics of ours and no payloads: those stay raw JSON. Everything
// here is pure and safe for concurrent use.
//
// Source: the bridge contract 2.1–2.3, the desktop contract 3.1.
package phx

import (
	"encoding/json"
	"errors"
)

// Version is the serializer version this package speaks; clients name it in the
// query parameter vsn.
const Version = "2.0.0"

// Events that belong to Phoenix.
const (
	EventJoin      = "phx_join"
	EventLeave     = "phx_leave"
	EventReply     = "phx_reply"
	EventClose     = "phx_close"
	EventError     = "phx_error"
	EventHeartbeat = "heartbeat"
)

// TopicPhoenix is the topic of heartbeats; it cannot be joined.
const TopicPhoenix = "phoenix"

// Statuses of a phx_reply.
const (
	StatusOK    = "ok"
	StatusError = "error"
)

// Bounds of the parts of a message that the server keeps or echoes.
const (
	MaxRef   = 64  // bytes of a join_ref or ref as it stands in the frame, quotes included
	MaxTopic = 256 // bytes
	MaxEvent = 128 // bytes
)

// Errors of Decode. All of them mean that the sender does not speak V2.
var (
	ErrNotJSON  = errors.New("phx: frame is not JSON")
	ErrShape    = errors.New("phx: frame is not [join_ref, ref, topic, event, payload]")
	ErrTooLong  = errors.New("phx: ref, topic or event is too long")
	ErrBadNames = errors.New("phx: topic and event must be non-empty strings")
)

// Ref is a join_ref or ref exactly as its sender wrote it: the JSON text of a
// string ("7" with its quotes) or of a number. The empty Ref is null. Echoing
// the text keeps clients working that compare with the type they sent.
type Ref string

// Message is one decoded frame. Payload aliases the bytes given to Decode.
type Message struct {
	JoinRef Ref
	Ref     Ref
	Topic   string
	Event   string
	Payload json.RawMessage
}
