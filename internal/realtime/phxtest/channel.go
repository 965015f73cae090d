package phxtest

import (
	"encoding/json"

	"github.com/agntchat/agntchat/internal/realtime/phx"
)

// Channel is one joined topic of a Client.
type Channel struct {
	Client  *Client
	Topic   string
	JoinRef phx.Ref
	Reply   Reply // to the join
}

// Join joins a topic and fails the test when the server refuses.
func (c *Client) Join(topic string, params any) *Channel {
	c.t.Helper()
	ch := c.TryJoin(topic, params)
	if ch.Reply.Status != phx.StatusOK {
		c.t.Fatalf("join %s: %s %s", topic, ch.Reply.Status, ch.Reply.Response)
	}
	return ch
}

// TryJoin joins a topic and waits for the reply, whatever it is.
func (c *Client) TryJoin(topic string, params any) *Channel {
	c.t.Helper()
	ref := c.Send("", topic, phx.EventJoin, params)
	return &Channel{Client: c, Topic: topic, JoinRef: ref, Reply: c.Await(ref)}
}

// Push pushes an event and waits for its reply.
func (ch *Channel) Push(event string, payload any) Reply {
	ch.Client.t.Helper()
	return ch.Client.Await(ch.Send(event, payload))
}

// Send pushes an event and returns its ref for Await.
func (ch *Channel) Send(event string, payload any) phx.Ref {
	ch.Client.t.Helper()
	return ch.Client.Send(ch.JoinRef, ch.Topic, event, payload)
}

// Leave leaves the topic and waits for the reply.
func (ch *Channel) Leave() Reply {
	ch.Client.t.Helper()
	return ch.Push(phx.EventLeave, nil)
}

// Next waits for the next event of the topic, in the order of arrival.
func (ch *Channel) Next() Message {
	ch.Client.t.Helper()
	var m Message
	ch.Client.wait("an event on "+ch.Topic, func() bool {
		queue := ch.Client.events[ch.Topic]
		if len(queue) == 0 {
			return false
		}
		m, ch.Client.events[ch.Topic] = queue[0], queue[1:]
		return true
	})
	return m
}

// Expect waits for the next event of that name, passing over others, and returns
// its payload.
func (ch *Channel) Expect(event string) json.RawMessage {
	ch.Client.t.Helper()
	var payload json.RawMessage
	ch.Client.wait(event+" on "+ch.Topic, func() bool {
		queue := ch.Client.events[ch.Topic]
		for i, m := range queue {
			if m.Event == event {
				payload, ch.Client.events[ch.Topic] = m.Payload, queue[i+1:]
				return true
			}
		}
		return false
	})
	return payload
}

// Pending returns the events of the topic that were received and not taken, and
// takes them. After Client.Heartbeat nothing that was sent before is missing.
func (ch *Channel) Pending() []Message {
	ch.Client.mu.Lock()
	defer ch.Client.mu.Unlock()
	queue := ch.Client.events[ch.Topic]
	delete(ch.Client.events, ch.Topic)
	return queue
}
