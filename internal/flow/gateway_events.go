package flow

import (
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/view"
)

// ReceiptChanged tells a room what became of a message with one agent. It is
// derived from rows and bumps no version.
type ReceiptChanged struct {
	ConversationID id.Conversation
	Receipt        view.Receipt
}

// Topic is the room's.
func (e ReceiptChanged) Topic() string { return event.ConversationTopic(e.ConversationID.String()) }
