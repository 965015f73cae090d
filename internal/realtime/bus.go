package realtime

import (
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/agntchat/agntchat/internal/realtime/phx"
)

// Class separates the subscribers of one topic. A message goes to the
// subscribers of its own class only, unless it is sent to any class. The empty
// class is what people get; an agent's user topic joined with an executor has a
// class of its own (decision 22).
type Class string

// Tags are what filters look at. They are fixed for the life of a subscription.
type Tags struct {
	Conn        string // connection id
	Participant string // participant id as on the wire
	Class       Class
}

// Subscriber receives the frames of a topic. Deliver must not block and must not
// call the bus: it may only put frames into a queue of its own or write them
// without waiting. After Unsubscribe has returned, a Deliver that was already
// on its way may still arrive once.
type Subscriber interface {
	Deliver(Batch)
}

// Message is one event for the subscribers of one topic.
type Message struct {
	Topic   string
	Event   string
	Payload any // json.RawMessage passes through; anything else is marshalled once

	ExceptConn        string // leave out this connection
	ExceptParticipant string // leave out every connection of this participant
	Class             Class  // only subscribers of this class …
	AnyClass          bool   // … or of every class

	Droppable bool   // see Frame
	Key       string // see Frame

	// More says that another message of the topic is about to follow. A topic with a
	// goroutine of its own waits for it, at most 10 ms, to send both in one write.
	More bool
}

// Config of a Bus. The zero value is usable.
type Config struct {
	// InlineBelow is the number of subscribers from which on a topic has a
	// goroutine of its own that sends what has gathered in one write per
	// subscriber; below it the broadcaster writes itself. 0 means 32.
	InlineBelow int
	// MaxPending bounds the bytes that wait in such a topic; a broadcaster that
	// meets a full topic waits for the fan-out, which never waits for readers.
	// 0 means 8 MiB.
	MaxPending int
	// ParallelFrom is the number of subscribers from which on one fan-out uses
	// all processors. 0 means 5000.
	ParallelFrom int
	// Registerer takes the metrics agntchat_realtime_*; nil means none.
	Registerer prometheus.Registerer
}

// Bus connects broadcasters and subscribers. It is safe for concurrent use.
type Bus struct {
	cfg     Config
	metrics *busMetrics
	seed    maphash.Seed
	shards  [64]shard
	running sync.WaitGroup
}

type shard struct {
	mu     sync.Mutex
	topics map[string]*topic
}

// NewBus makes a bus. It starts nothing; goroutines come and go with traffic.
func NewBus(cfg Config) *Bus {
	if cfg.InlineBelow == 0 {
		cfg.InlineBelow = 32
	}
	if cfg.MaxPending == 0 {
		cfg.MaxPending = 8 << 20
	}
	if cfg.ParallelFrom == 0 {
		cfg.ParallelFrom = 5000
	}
	b := &Bus{cfg: cfg, metrics: newBusMetrics(cfg.Registerer), seed: maphash.MakeSeed()}
	for i := range b.shards {
		b.shards[i].topics = make(map[string]*topic)
	}
	return b
}

// Subscribe adds s to a topic. It sees the broadcasts that begin after Subscribe
// has returned, and none that began before it was called. Subscribing the same s
// twice to a topic replaces its tags.
func (b *Bus) Subscribe(name string, s Subscriber, tags Tags) {
	sh := b.shard(name)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	t := sh.topics[name]
	if t == nil {
		t = newTopic(b)
		sh.topics[name] = t
		b.metrics.topics.Inc()
	}
	t.add(s, tags)
}

// Unsubscribe removes s from a topic; it does nothing when s is not there.
func (b *Bus) Unsubscribe(name string, s Subscriber) {
	sh := b.shard(name)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	t := sh.topics[name]
	if t == nil {
		return
	}
	if t.remove(s) == 0 {
		delete(sh.topics, name)
		b.metrics.topics.Dec()
	}
}

// Broadcast encodes m once and hands it to the topic's subscribers. It does not
// wait for readers. It returns ErrFrameTooLarge or an encoding error, and then
// nobody got anything. A topic without subscribers costs a map lookup.
func (b *Bus) Broadcast(m Message) error {
	t := b.topic(m.Topic)
	if t == nil {
		return nil
	}
	raw, err := phx.Marshal(m.Payload)
	if err != nil {
		return fmt.Errorf("broadcast %s: %w", m.Event, err)
	}
	return t.broadcast(m, raw)
}

// BroadcastAll sends m to every topic named, encoding the payload once. m.Topic
// is not used. On an error no topic got anything.
func (b *Bus) BroadcastAll(topics []string, m Message) error {
	raw, err := phx.Marshal(m.Payload)
	if err != nil {
		return fmt.Errorf("broadcast: %w", err)
	}
	for _, name := range topics {
		if len(raw)+len(name)+len(m.Event)+32 >= MaxFrame {
			return fmt.Errorf("broadcast %s: %w", m.Event, ErrFrameTooLarge)
		}
	}
	for _, name := range topics {
		t := b.topic(name)
		if t == nil {
			continue
		}
		m.Topic = name
		if err := t.broadcast(m, raw); err != nil {
			return err
		}
	}
	return nil
}

// BroadcastEach sends several messages to one topic, in order and in as few writes
// as possible. Their own Topic is not used. On an error nothing was sent.
func (b *Bus) BroadcastEach(topic string, messages []Message) error {
	t := b.topic(topic)
	if t == nil {
		return nil
	}
	frames := make([]outgoing, len(messages))
	for i, m := range messages {
		raw, err := phx.Marshal(m.Payload)
		if err != nil {
			return fmt.Errorf("broadcast %s: %w", m.Event, err)
		}
		m.Topic = topic
		if frames[i], err = newOutgoing(m, raw); err != nil {
			return err
		}
	}
	for len(frames) > 0 {
		n := cut(frames)
		t.send(frames[:n], false)
		frames = frames[n:]
	}
	return nil
}

// Count is the number of subscribers of a topic.
func (b *Bus) Count(name string) int {
	t := b.topic(name)
	if t == nil {
		return 0
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.subs)
}

// Wait blocks until every fan-out under way has ended. The caller has made sure
// that nobody broadcasts any more.
func (b *Bus) Wait() { b.running.Wait() }

func (b *Bus) shard(name string) *shard {
	return &b.shards[maphash.String(b.seed, name)%uint64(len(b.shards))]
}

func (b *Bus) topic(name string) *topic {
	sh := b.shard(name)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	return sh.topics[name]
}
