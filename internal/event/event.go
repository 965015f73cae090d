// Package event holds the one word that producers and the bus share: something
// happened, on a topic. It owns no event types: those live beside the code that
// knows their content (internal/flow for persisted changes, internal/channel for
// what is only live).
package event

// Event is something that happened, in the past tense. A screen would like to
// know it; nothing depends on it being delivered (decision: architecture 4).
type Event interface {
	// Topic is the channel topic that hears of it, "user:<uuid>" or
	// "conversation:<uuid>".
	Topic() string
}

// UserTopic is the private topic of a participant.
func UserTopic(participantID string) string { return "user:" + participantID }

// ConversationTopic is the topic of a room.
func ConversationTopic(conversationID string) string { return "conversation:" + conversationID }
