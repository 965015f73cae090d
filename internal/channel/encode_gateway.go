package channel

import (
	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/flow"
	"github.com/agntchat/agntchat/internal/present"
	"github.com/agntchat/agntchat/internal/wire"
)

// GatewayEvents encodes the events of turns (docs/protocol.md 6).
func GatewayEvents() Encode {
	return func(ev event.Event) ([]Out, bool) {
		e, ok := ev.(flow.ReceiptChanged)
		if !ok {
			return nil, false
		}
		return []Out{{Topics: []string{ev.Topic()}, Event: "receipt_changed", Payload: wire.ReceiptChanged{
			ConversationID: e.ConversationID.String(), Receipt: present.Receipt(e.Receipt),
		}}}, true
	}
}
