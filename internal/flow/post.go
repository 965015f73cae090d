package flow

import (
	"encoding/json"

	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
)

// Post is one message as it comes in, whoever writes it.
type Post struct {
	ConversationID    id.Conversation
	Content           string
	ContentType       string // "" is text
	MessageType       *string
	ContentStructured json.RawMessage
	Metadata          json.RawMessage
	ParentMessageID   *id.Message
	CorrelationID     *string
	// ClientKey is the writer's own name for this message (socket nonce or
	// Idempotency-Key): the same name gives the first result again.
	ClientKey string
	// Files are uploads of the writer to this room whose bytes have arrived; the
	// message shows them, and keeps them. Content may then be empty.
	Files []id.File
	// LastSeenMessageID makes an agent's message a draft that may be stale
	// (decision 18).
	LastSeenMessageID *id.Message
	// Quiet shows what was said elsewhere: it wakes nobody, waits in no inbox and
	// mentions nobody. Only the server sets it.
	Quiet bool
	// Report says what came of something elsewhere: it wakes only whom it mentions.
	// Only the server sets it, and TurnGroupID, for what a turn says outside its room.
	Report      bool
	TurnGroupID *string
	marked      bool // the metadata is the server's: it may say that this is a report
	plain       bool // <dm> blocks stay text: what is said has been taken apart already
	// Calls is why somebody is told of it, where the message itself does not say: the
	// notification category of desktop 3.8, "" for not at all. Only the server sets it.
	Calls map[id.Participant]string
	// Notice makes it a visible notice of the server. The actor is System.
	Notice *Notice
}

// Notice is a line of the server: the code and the parameters are rendered by our
// client, the content is its English text (decision 24).
type Notice struct {
	Code   string
	Params map[string]any
}

// Posted is what became of a Post. Exactly one of these holds: Message is stored
// now; Duplicate, and Message is the first result; Suppressed, and nothing was
// stored because the agent had ended its turn silently; Stale is set, and nothing
// was stored but the refusal, which the caller of PostTx must commit before it
// answers Stale as the error.
type Posted struct {
	Message    view.Message
	Duplicate  bool
	Suppressed bool
	Stale      *StaleError
	Receivers  []id.Participant // agents that were woken
}

// StaleError says that a draft is outdated: 409 {"stale":true,"newMessages":[…]}
// (bridge 3.1). Nothing was stored. httpapi gives it its body.
type StaleError struct {
	NewMessages []view.Message // oldest first
}

// Error names no message.
func (*StaleError) Error() string { return "stale draft: newer messages exist" }
