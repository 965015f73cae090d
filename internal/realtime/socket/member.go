package socket

import (
	"sync"

	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/phx"
)

// Member is one connection in one topic, from a join to its end. Its methods are
// safe for concurrent use and never block.
type Member struct {
	conn    *Conn
	lane    *lane
	topic   string
	joinRef phx.Ref
	channel Channel

	mu    sync.Mutex
	class realtime.Class
	state memberState
	held  []*realtime.Frame // broadcasts that wait for the end of Joined
	bytes int               // of held

	// Used by the lane's goroutine alone.
	joined bool
}

type memberState uint8

const (
	memberJoining memberState = iota
	memberHeld                // subscribed, broadcasts wait
	memberOpen
	memberGone
)

// Conn is the connection.
func (m *Member) Conn() *Conn { return m.conn }

// Topic is the topic's name.
func (m *Member) Topic() string { return m.topic }

// SetClass decides which broadcasts of the topic this member gets (see
// realtime.Class). It must be called within Join.
func (m *Member) SetClass(c realtime.Class) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.class = c
}

// Push queues one event for this member alone. Such events are never dropped:
// a client that cannot take them is closed. It returns ErrClosed when the member
// is gone, realtime.ErrFrameTooLarge or an encoding error; nil means queued, not
// read.
func (m *Member) Push(event string, payload any) error {
	f, err := realtime.NewFrame(m.joinRef, "", m.topic, event, payload)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state == memberGone {
		return ErrClosed
	}
	return m.conn.out.sendFrame(f, true)
}

// Close ends the membership with phx_close: the client forgets the topic.
func (m *Member) Close() { m.conn.remove(m, phx.EventClose) }

// Fail ends the membership with phx_error: the client joins again by itself.
func (m *Member) Fail() { m.conn.remove(m, phx.EventError) }

// Deliver implements realtime.Subscriber.
func (m *Member) Deliver(b realtime.Batch) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch m.state {
	case memberOpen:
		_ = m.conn.out.send(b, false) // a closed connection is on its way out
	case memberHeld:
		m.hold(b)
	}
}

// hold keeps broadcasts back while the snapshot is being pushed. What would
// overrun the bound is given to the outbox at once: its rules then decide.
func (m *Member) hold(b realtime.Batch) {
	m.held = append(m.held, b.Frames...)
	m.bytes += len(b.Wire)
	if m.bytes > m.conn.server.cfg.Limits.QueueBytes {
		m.release()
	}
}

// open lets broadcasts through after those that were held.
func (m *Member) open() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state != memberHeld {
		return
	}
	m.release()
	m.state = memberOpen
}

func (m *Member) release() {
	for _, f := range m.held {
		_ = m.conn.out.sendFrame(f, false)
	}
	m.held, m.bytes = nil, 0
}

// admit moves from joining to held; false when the member is gone meanwhile.
func (m *Member) admit() (realtime.Class, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state == memberGone {
		return m.class, false
	}
	m.state = memberHeld
	return m.class, true
}

// end stops every event to this member. It reports whether it was the first to
// do so.
func (m *Member) end() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.state == memberGone {
		return false
	}
	m.state, m.held = memberGone, nil
	return true
}

func (m *Member) gone() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.state == memberGone
}
