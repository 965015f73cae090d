package backend

import "context"

// Listener is a backend whose runs hear what is said while they go on.
type Listener interface {
	// Tell gives text to the run of a conversation that goes on now. heard is false when
	// none does, or when it takes nothing any more. It blocks until the run has the
	// text, at most until ctx ends.
	Tell(ctx context.Context, conversationID, text string) (heard bool)
}

// Ender is a backend that keeps something for each conversation.
type Ender interface {
	// End forgets a conversation that never goes on: its process, its session.
	End(conversationID string)
}
