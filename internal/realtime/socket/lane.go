package socket

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/agntchat/agntchat/internal/realtime"
	"github.com/agntchat/agntchat/internal/realtime/phx"
)

// lane runs the calls of one topic of one connection, one after the other. It
// outlives a membership, so that a leave that is still running and the next join
// of the same topic do not meet. Its fields are guarded by the connection.
type lane struct {
	conn   *Conn
	topic  string
	member *Member // who gets the next push; nil when left
	queue  []task
	active bool // the goroutine exists
}

type taskKind uint8

const (
	taskJoin taskKind = iota
	taskPush
	taskLeave
)

type task struct {
	kind    taskKind
	member  *Member
	ref     phx.Ref
	event   string
	payload json.RawMessage
	reason  LeaveReason
	answer  bool // a leave that the client asked for
}

// enqueueLocked adds a task; the caller holds the connection's mutex.
func (l *lane) enqueueLocked(t task) {
	l.queue = append(l.queue, t)
	l.conn.waiting += len(t.payload)
	if l.active {
		return
	}
	l.active = true
	l.conn.running++
	l.conn.server.running.Go(l.run)
}

// fullLocked reports whether the lane, or the connection as a whole, has as much
// waiting as it may.
func (l *lane) fullLocked() bool {
	lim := &l.conn.server.cfg.Limits
	return len(l.queue) >= lim.Backlog || l.conn.waiting >= lim.BacklogSize
}

// dropLocked takes the member out of the lane if it is still the current one.
func (l *lane) dropLocked(m *Member) {
	if l.member == m {
		l.member = nil
		l.conn.joined--
	}
}

// run works until the lane is empty, then gives its goroutine back.
func (l *lane) run() {
	c := l.conn
	for {
		c.mu.Lock()
		if len(l.queue) == 0 {
			l.active, l.queue = false, nil
			c.running--
			if l.member == nil {
				c.lanes = slices.DeleteFunc(c.lanes, func(o *lane) bool { return o == l })
			}
			idle := c.onIdle
			if c.running > 0 {
				idle = nil
			} else {
				c.onIdle = nil
			}
			c.mu.Unlock()
			if idle != nil {
				idle()
			}
			return
		}
		t := l.queue[0]
		l.queue[0] = task{}
		l.queue = l.queue[1:]
		c.waiting -= len(t.payload)
		c.mu.Unlock()
		l.do(t)
	}
}

func (l *lane) do(t task) {
	s := l.conn.server
	start := time.Now()
	ctx, cancel := context.WithTimeoutCause(s.base, s.cfg.Limits.HandlerTimeout, errHandlerTimeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			l.crashed(ctx, t, p)
		}
	}()
	switch t.kind {
	case taskJoin:
		l.join(ctx, t)
	case taskPush:
		l.push(ctx, t)
	case taskLeave:
		l.leave(ctx, t)
		return
	}
	s.metrics.handler.Observe(time.Since(start).Seconds())
}

var errHandlerTimeout = errors.New("socket: handler timeout")

func (l *lane) join(ctx context.Context, t task) {
	m, c := t.member, l.conn
	if m.gone() {
		return // left or disconnected before its turn came
	}
	release, err := c.server.joinSlot(ctx)
	if err != nil {
		l.refuseJoin(t, err)
		return
	}
	defer release()
	if m.gone() {
		return // the client gave up waiting for its slot
	}
	reply, err := m.channel.Join(ctx, m, t.payload)
	if err != nil {
		l.refuseJoin(t, err)
		return
	}
	m.joined = true
	c.server.metrics.joined.Inc()
	class, ok := m.admit()
	if !ok {
		return // the leave that ended it is in the queue
	}
	c.server.cfg.Bus.Subscribe(m.topic, m, realtime.Tags{
		Conn: c.id, Participant: c.session.Participant, Class: class,
	})
	if err := c.reply(m.joinRef, t.ref, m.topic, phx.StatusOK, reply); err != nil && !errors.Is(err, ErrClosed) {
		l.log(t, "join reply not sent", err)
		c.remove(m, phx.EventError)
		return
	}
	c.server.metrics.joins.WithLabelValues("ok").Inc()
	if j, ok := m.channel.(Joined); ok {
		j.Joined(ctx, m)
	}
	m.open()
}

func (l *lane) refuseJoin(t task, err error) {
	m, c := t.member, l.conn
	c.server.metrics.joins.WithLabelValues("refused").Inc()
	first := m.end()
	c.mu.Lock()
	l.dropLocked(m)
	c.mu.Unlock()
	if first {
		l.answerError(t, err)
	}
}

func (l *lane) push(ctx context.Context, t task) {
	m, c := t.member, l.conn
	if !m.joined {
		c.refuse(phx.Message{JoinRef: m.joinRef, Ref: t.ref, Topic: l.topic}, reasonUnmatched)
		return
	}
	reply, err := m.channel.Push(ctx, m, t.event, t.payload)
	switch {
	case errors.Is(err, ErrNoReply):
		c.server.metrics.pushes.WithLabelValues("no_reply").Inc()
		return
	case err != nil:
		c.server.metrics.pushes.WithLabelValues("error").Inc()
		l.answerError(t, err)
		return
	}
	c.server.metrics.pushes.WithLabelValues("ok").Inc()
	if t.ref == "" {
		return
	}
	if err := c.reply(m.joinRef, t.ref, m.topic, phx.StatusOK, reply); err != nil && !errors.Is(err, ErrClosed) {
		l.log(t, "push reply not sent", err)
		l.answerError(t, err)
	}
}

func (l *lane) leave(ctx context.Context, t task) {
	m, c := t.member, l.conn
	if m.joined {
		m.joined = false
		c.server.cfg.Bus.Unsubscribe(m.topic, m)
		c.server.metrics.joined.Dec()
		m.channel.Leave(ctx, m, t.reason)
	}
	if t.answer {
		if t.ref != "" {
			_ = c.reply(m.joinRef, t.ref, m.topic, phx.StatusOK, nil)
		}
		c.signal(m, phx.EventClose)
	}
}

// crashed ends a membership whose handler panicked; the client joins again.
func (l *lane) crashed(ctx context.Context, t task, p any) {
	m, c := t.member, l.conn
	c.server.metrics.panics.Inc()
	c.server.cfg.Log.LogAttrs(ctx, slog.LevelError, "channel handler panicked",
		slog.String("conn_id", c.id), slog.String("topic", l.topic), slog.String("event", t.event),
		slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
	if m.end() {
		c.signal(m, phx.EventError)
	}
	c.mu.Lock()
	l.dropLocked(m)
	if t.kind != taskLeave {
		l.queue = append([]task{{kind: taskLeave, member: m, reason: LeftCrashed}}, l.queue...)
	}
	c.mu.Unlock()
}

func (l *lane) answerError(t task, err error) {
	if t.ref == "" {
		return
	}
	c := l.conn
	var response any
	switch {
	case errors.Is(err, ErrUnknownEvent):
		response = reasonReply{Reason: "unmatched event"}
	default:
		response = c.server.cfg.ErrorReply(err)
	}
	if err := c.reply(t.member.joinRef, t.ref, l.topic, phx.StatusError, response); err != nil && !errors.Is(err, ErrClosed) {
		l.log(t, "error reply not sent", err)
		_ = c.reply(t.member.joinRef, t.ref, l.topic, phx.StatusError, reasonReply{Reason: "internal"})
	}
}

func (l *lane) log(t task, msg string, err error) {
	l.conn.server.cfg.Log.LogAttrs(context.Background(), slog.LevelError, msg,
		slog.String("conn_id", l.conn.id), slog.String("topic", l.topic),
		slog.String("event", t.event), slog.Any("error", err))
}
