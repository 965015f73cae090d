package channel

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/agntchat/agntchat/internal/event"
	"github.com/agntchat/agntchat/internal/id"
	"github.com/agntchat/agntchat/internal/realtime"
)

// Out is one event for some topics, encoded once for all of them.
type Out struct {
	Topics  []string
	Event   string
	Payload any
	Class   realtime.Class
	More    bool // see realtime.Message
	// Before runs right before the event is sent. It must not block.
	Before func()
	// After runs once the event is on its way. It must not block.
	After func()
}

// Encode turns an event into frames; false when it is not of its family.
type Encode func(event.Event) ([]Out, bool)

// Encoder hands the events of committed transactions to the bus, in order. It is
// the pg.Deliverer of the server.
type Encoder struct {
	Bus      Bus
	Families []Encode // asked in order
	Log      *slog.Logger
}

// Deliver implements pg.Deliverer.
func (e *Encoder) Deliver(ctx context.Context, events []event.Event) {
	for _, ev := range events {
		outs, ok := e.encode(ev)
		if !ok {
			e.Log.ErrorContext(ctx, "event without an encoder", slog.String("type", fmt.Sprintf("%T", ev)))
			continue
		}
		for _, o := range outs {
			if o.Before != nil {
				o.Before()
			}
			if err := e.Bus.BroadcastAll(o.Topics, realtime.Message{Event: o.Event, Payload: o.Payload, Class: o.Class, More: o.More}); err != nil {
				e.Log.ErrorContext(ctx, "event could not be sent", slog.String("event", o.Event), slog.Any("error", err))
			}
			if o.After != nil {
				o.After()
			}
		}
	}
}

func (e *Encoder) encode(ev event.Event) ([]Out, bool) {
	for _, f := range e.Families {
		if outs, ok := f(ev); ok {
			return outs, true
		}
	}
	return nil, false
}

// userTopics are the private topics of participants.
func userTopics(ids []id.Participant) []string {
	out := make([]string, len(ids))
	for i, p := range ids {
		out[i] = event.UserTopic(p.String())
	}
	return out
}
