package socket

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/coder/websocket"

	"github.com/agntchat/agntchat/internal/realtime/phx"
)

const reasonUnmatched = "unmatched topic"

var errTooBig = errors.New("socket: frame too big")

// messages holds the buffers that messages are gathered in; what a handler gets
// is a copy of the exact size.
type messages struct{ pool sync.Pool }

func (p *messages) get() *bytes.Buffer {
	if b, ok := p.pool.Get().(*bytes.Buffer); ok {
		return b
	}
	return new(bytes.Buffer)
}

func (p *messages) put(b *bytes.Buffer) {
	if b.Cap() > 128<<10 {
		return
	}
	b.Reset()
	p.pool.Put(b)
}

// read is the connection's goroutine: it lives as long as the connection.
func (c *Conn) read() {
	defer c.finish()
	for {
		// Waiting here and not inside the library keeps the stack of an idle
		// connection at half the size. The library reads from the same buffer.
		_, err := c.br.Peek(1)
		var kind websocket.MessageType
		var r io.Reader
		if err == nil {
			kind, r, err = c.ws.Reader(context.Background())
		}
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) && c.taking() {
				c.Close(CodeGoingAway, "idle")
			}
			return // closed by either side, broken, or silent for too long
		}
		if !c.taking() {
			// Closing: what still comes is thrown away until the client's close
			// frame or the deadline, so that ours is not lost in a reset.
			if _, err := io.Copy(io.Discard, r); err != nil {
				return
			}
			continue
		}
		c.server.metrics.frames.Inc()
		if kind != websocket.MessageText {
			c.Close(CodeUnsupported, "text frames only")
			if _, err := io.Copy(io.Discard, r); err != nil {
				return
			}
			continue
		}
		data, err := c.message(r)
		switch {
		case errors.Is(err, errTooBig):
			c.Close(CodeTooBig, "frame too big")
			if _, err := io.Copy(io.Discard, r); err != nil {
				return
			}
			continue
		case err != nil:
			return
		}
		c.handle(data)
	}
}

// message reads one message within the limits. Some events may be longer than
// others, which shows after the first bytes.
func (c *Conn) message(r io.Reader) ([]byte, error) {
	lim := &c.server.cfg.Limits
	buf := c.server.messages.get()
	defer c.server.messages.put(buf)
	if _, err := io.CopyN(buf, r, int64(lim.Frame)+1); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if buf.Len() > lim.Frame {
		large := lim.LargeFrames[phx.PeekEvent(buf.Bytes())]
		if large <= lim.Frame {
			return nil, errTooBig
		}
		if _, err := io.CopyN(buf, r, int64(large-lim.Frame)); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if buf.Len() > large {
			return nil, errTooBig
		}
	}
	return bytes.Clone(buf.Bytes()), nil
}

// handle takes one message. It never waits for a handler.
func (c *Conn) handle(data []byte) {
	if !utf8.Valid(data) {
		c.Close(CodeInvalid, "not UTF-8")
		return
	}
	msg, err := phx.Decode(data)
	if err != nil {
		c.Close(CodeInvalid, err.Error())
		return
	}
	allowed, flood := c.pushes.take(time.Now())
	if flood {
		c.Close(CodePolicy, "too many messages")
		return
	}
	switch {
	case msg.Topic == phx.TopicPhoenix:
		if msg.Event != phx.EventHeartbeat {
			c.refuse(msg, reasonUnmatched)
			return
		}
		if msg.Ref != "" {
			_ = c.reply(msg.JoinRef, msg.Ref, msg.Topic, phx.StatusOK, nil)
		}
	case msg.Event == phx.EventLeave:
		c.handleLeave(msg)
	case !allowed:
		c.server.metrics.pushes.WithLabelValues("limited").Inc()
		c.refuse(msg, "rate_limited")
	case msg.Event == phx.EventJoin:
		c.handleJoin(msg)
	default:
		c.handlePush(msg)
	}
}

func (c *Conn) handleJoin(msg phx.Message) {
	m := c.server.metrics
	if allowed, _ := c.joins.take(time.Now()); !allowed {
		m.joins.WithLabelValues("limited").Inc()
		c.refuse(msg, "rate_limited")
		return
	}
	channel, ok := c.server.cfg.Route(msg.Topic)
	if !ok {
		m.joins.WithLabelValues("unmatched").Inc()
		c.refuse(msg, reasonUnmatched)
		return
	}
	joinRef := msg.JoinRef
	if joinRef == "" {
		joinRef = msg.Ref // a join names itself
	}
	member := &Member{conn: c, topic: msg.Topic, joinRef: joinRef, channel: channel}

	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.laneLocked(msg.Topic)
	added := l == nil
	if added {
		l = &lane{conn: c, topic: msg.Topic}
	}
	switch old := l.member; {
	case old != nil:
		if old.end() {
			c.signal(old, phx.EventClose)
		}
		l.enqueueLocked(task{kind: taskLeave, member: old, reason: LeftReplaced})
	case c.joined >= c.server.cfg.Limits.Topics:
		m.joins.WithLabelValues("limited").Inc()
		c.refuse(msg, "too many topics")
		return
	default:
		c.joined++
	}
	if l.fullLocked() {
		l.dropLocked(l.member)
		c.refuse(msg, "busy")
		return
	}
	if added {
		c.lanes = append(c.lanes, l)
	}
	member.lane, l.member = l, member
	l.enqueueLocked(task{kind: taskJoin, member: member, ref: msg.Ref, event: msg.Event, payload: msg.Payload})
}

func (c *Conn) handlePush(msg phx.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.laneLocked(msg.Topic)
	if l == nil || l.member == nil {
		c.refuse(msg, reasonUnmatched)
		return
	}
	if l.fullLocked() {
		c.server.metrics.pushes.WithLabelValues("busy").Inc()
		c.refuse(msg, "busy")
		return
	}
	l.enqueueLocked(task{kind: taskPush, member: l.member, ref: msg.Ref, event: msg.Event, payload: msg.Payload})
}

// handleLeave stops the events at once and answers after the pushes before it.
// Leaving what is not joined, or what was replaced meanwhile, is answered too.
func (c *Conn) handleLeave(msg phx.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.laneLocked(msg.Topic)
	if l == nil || l.member == nil || (msg.JoinRef != "" && msg.JoinRef != l.member.joinRef) {
		if msg.Ref != "" {
			_ = c.reply(msg.JoinRef, msg.Ref, msg.Topic, phx.StatusOK, nil)
		}
		return
	}
	m := l.member
	m.end()
	l.enqueueLocked(task{kind: taskLeave, member: m, ref: msg.Ref, reason: LeftByClient, answer: true})
	l.dropLocked(m)
}
