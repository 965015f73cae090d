package channel

import (
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// MemoryEvents encodes what rooms and agents remember (desktop 3.4, 3.5).
func MemoryEvents() Encode {
	return func(ev event.Event) ([]Out, bool) {
		out := Out{Topics: []string{ev.Topic()}}
		switch e := ev.(type) {
		case flow.RoomMemoryChanged:
			out.Event, out.Payload = "memory_updated", wire.MemoryUpdated{ConversationID: e.ConversationID.String(), Memory: e.Memory, Version: e.Version}
		case flow.MemorySaved:
			out.Event, out.Payload = "memory_saved", present.MemorySaved(e)
		default:
			return nil, false
		}
		return []Out{out}, true
	}
}
