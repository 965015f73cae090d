package socket

import (
	"bufio"
	"sync"

	"github.com/coder/websocket"

	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/phx"
)

// Conn is one socket of one client. Its methods are safe for concurrent use and
// never block.
type Conn struct {
	id      string
	session Session
	remote  string
	server  *Server
	ws      *websocket.Conn
	out     outbox

	// Used by the reader alone.
	br            *bufio.Reader // of ws
	pushes, joins bucket

	mu      sync.Mutex
	lanes   []*lane // by topic, which are few: a map would weigh more than all of them
	joined  int     // lanes with a member
	running int     // lanes at work
	waiting int     // bytes of the payloads in all lanes
	closing bool    // nothing is taken from the client any more
	onIdle  func()
	ended   bool
}

// ID is unique in this process and fresh for every connection.
func (c *Conn) ID() string { return c.id }

// Session is what the Authenticator returned.
func (c *Conn) Session() Session { return c.session }

// RemoteAddr is the peer of the TCP connection, which may be a proxy.
func (c *Conn) RemoteAddr() string { return c.remote }

// Topics lists the topics that are joined or being joined.
func (c *Conn) Topics() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	topics := make([]string, 0, len(c.lanes))
	for _, l := range c.lanes {
		if l.member != nil {
			topics = append(topics, l.topic)
		}
	}
	return topics
}

// Push queues one event for the topic as this connection has joined it. It
// returns ErrClosed when it has not.
func (c *Conn) Push(topic, event string, payload any) error {
	c.mu.Lock()
	var m *Member
	if l := c.laneLocked(topic); l != nil {
		m = l.member
	}
	c.mu.Unlock()
	if m == nil {
		return ErrClosed
	}
	return m.Push(event, payload)
}

// Close tells the client why and ends the connection once what waits is written
// or Limits.CloseTimeout has passed. Handlers that run are not interrupted.
// 1000 becomes 1001. The first call wins.
func (c *Conn) Close(code Code, reason string) {
	c.mu.Lock()
	c.closing = true
	c.mu.Unlock()
	c.out.close(code, reason)
}

// laneLocked is the lane of a topic, or nil.
func (c *Conn) laneLocked(topic string) *lane {
	for _, l := range c.lanes {
		if l.topic == topic {
			return l
		}
	}
	return nil
}

// closeWhenIdle is Close after the handlers at work have answered.
func (c *Conn) closeWhenIdle(code Code, reason string) {
	c.mu.Lock()
	c.closing = true
	if c.running > 0 {
		c.onIdle = func() { c.Close(code, reason) }
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	c.out.close(code, reason)
}

// taking reports whether messages of the client are still carried out.
func (c *Conn) taking() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.closing
}

// reply answers a message of the client.
func (c *Conn) reply(joinRef, ref phx.Ref, topic, status string, response any) error {
	raw, err := phx.Marshal(response)
	if err != nil {
		return err
	}
	f, err := realtime.NewFrame(joinRef, ref, topic, phx.EventReply, phx.Reply(status, raw))
	if err != nil {
		return err
	}
	return c.out.sendFrame(f, true)
}

func (c *Conn) refuse(msg phx.Message, reason string) {
	if msg.Ref != "" {
		_ = c.reply(msg.JoinRef, msg.Ref, msg.Topic, phx.StatusError, reasonReply{Reason: reason})
	}
}

// signal sends phx_close or phx_error for a membership, as Phoenix does with the
// join_ref in both places.
func (c *Conn) signal(m *Member, event string) {
	if f, err := realtime.NewFrame(m.joinRef, m.joinRef, m.topic, event, nil); err == nil {
		_ = c.out.sendFrame(f, true)
	}
}

// remove ends a membership from the server's side.
func (c *Conn) remove(m *Member, event string) {
	if !m.end() {
		return
	}
	c.signal(m, event)
	c.mu.Lock()
	m.lane.enqueueLocked(task{kind: taskLeave, member: m, reason: LeftRemoved})
	m.lane.dropLocked(m)
	c.mu.Unlock()
}

// finish runs when the reader has ended: everything that was received before is
// still carried out, then every topic is left.
func (c *Conn) finish() {
	c.mu.Lock()
	c.closing, c.ended = true, true
	for _, l := range c.lanes {
		if m := l.member; m != nil {
			l.enqueueLocked(task{kind: taskLeave, member: m, reason: LeftDisconnected})
			l.dropLocked(m)
		}
	}
	c.mu.Unlock()
	c.out.shut()
	_ = c.ws.CloseNow()
	c.server.forget(c)
}
