package codex

import (
	"context"
	"log/slog"
)

// running is a turn that goes on in a thread.
type running struct {
	s              *server
	thread, turnID string
}

// listen makes a turn reachable by what is said while it goes on.
func (b *Backend) listen(conversation string, r running) (over func()) {
	b.mu.Lock()
	b.turns[conversation] = r
	b.mu.Unlock()
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.turns[conversation] == r {
			delete(b.turns, conversation)
		}
	}
}

// Tell implements backend.Listener. Codex takes the text only for the turn that is
// named, so that none is begun by it.
func (b *Backend) Tell(ctx context.Context, conversationID, text string) bool {
	b.mu.Lock()
	r, ok := b.turns[conversationID]
	b.mu.Unlock()
	if !ok {
		return false
	}
	params := map[string]any{"threadId": r.thread, "expectedTurnId": r.turnID, "input": []any{map[string]any{"type": "text", "text": text}}}
	if err := r.s.call(ctx, "turn/steer", params, nil); err != nil {
		b.opt.Log.Debug("codex does not listen", slog.Any("error", err))
		return false
	}
	return true
}

// End implements backend.Ender.
func (b *Backend) End(conversationID string) {
	room := b.room(conversationID)
	room.Lock()
	defer room.Unlock()
	b.mu.Lock()
	delete(b.rooms, conversationID)
	b.mu.Unlock()
	b.opt.Dir.DropSession(cli, conversationID)
}
