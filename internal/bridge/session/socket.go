package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// errHeartbeat ends a connection whose server no longer answers.
var errHeartbeat = errors.New("the server did not answer the socket heartbeat")

// errRejoin ends a connection because the server closed the topic.
var errRejoin = errors.New("the server closed the topic")

// socket is one Phoenix V2 connection (contract 2.1-2.5). It lives until its
// reader returns; the owner reconnects with a new one.
type socket struct {
	conn    *websocket.Conn
	onEvent func(topic, event string, payload json.RawMessage)
	cancel  context.CancelCauseFunc
	ended   <-chan struct{} // closed when the connection is over

	mu      sync.Mutex
	ref     int
	joins   map[string]string // topic -> join ref
	pending map[string]chan socketReply
}

type socketReply struct {
	Status   string          `json:"status"`
	Response json.RawMessage `json:"response"`
}

// dial opens a connection and starts its reader and heartbeat; wait returns
// when both have ended, with the reason.
func dial(ctx context.Context, base, token string, beat time.Duration, onEvent func(topic, event string, payload json.RawMessage)) (s *socket, wait func() error, err error) {
	u := "ws" + strings.TrimPrefix(base, "http") + "/socket/websocket?vsn=2.0.0&resync=1&token=" + url.QueryEscape(token)
	dctx, done := context.WithTimeout(ctx, 15*time.Second)
	defer done()
	conn, res, err := websocket.Dial(dctx, u, nil) //nolint:bodyclose // the library closes it or hands it to the connection
	if err != nil {
		if res != nil && res.StatusCode >= 400 {
			return nil, nil, &StatusError{Status: res.StatusCode, Message: "socket refused"}
		}
		// The address carries the token: never pass the library's text on.
		return nil, nil, fmt.Errorf("connect socket: %w", hideURL(err))
	}
	conn.SetReadLimit(8 << 20)
	rctx, cancel := context.WithCancelCause(ctx)
	s = &socket{conn: conn, onEvent: onEvent, cancel: cancel, ended: rctx.Done(), joins: map[string]string{}, pending: map[string]chan socketReply{}}
	var wg sync.WaitGroup
	var readErr error
	wg.Go(func() {
		readErr = s.read(rctx)
		cancel(readErr)
	})
	wg.Go(func() { s.beat(rctx, beat) })
	return s, func() error {
		wg.Wait()
		cause := context.Cause(rctx)
		cancel(nil)
		_ = conn.CloseNow()
		if cause != nil {
			return cause
		}
		return readErr
	}, nil
}

func hideURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

// close says goodbye; the reader then ends.
func (s *socket) close() {
	_ = s.conn.Close(websocket.StatusNormalClosure, "")
	s.cancel(context.Canceled)
}

func (s *socket) read(ctx context.Context) error {
	for {
		kind, raw, err := s.conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("read socket: %w", err)
		}
		if kind != websocket.MessageText {
			continue
		}
		var parts []json.RawMessage
		if json.Unmarshal(raw, &parts) != nil || len(parts) < 5 {
			continue
		}
		topic, event := text(parts[2]), text(parts[3])
		switch event {
		case "phx_reply":
			s.resolve(text(parts[1]), parts[4])
		case "phx_close", "phx_error":
			s.mu.Lock()
			join := s.joins[topic]
			s.mu.Unlock()
			if join != "" && (text(parts[0]) == "" || text(parts[0]) == join) {
				return errRejoin
			}
		default:
			s.onEvent(topic, event, parts[4])
		}
	}
}

func (s *socket) resolve(ref string, payload json.RawMessage) {
	s.mu.Lock()
	ch := s.pending[ref]
	delete(s.pending, ref)
	s.mu.Unlock()
	if ch == nil {
		return
	}
	var r socketReply
	if json.Unmarshal(payload, &r) != nil {
		r.Status = "error"
	}
	ch <- r
}

// text reads a ref that may be a string, a number or null.
func text(raw json.RawMessage) string {
	var v string
	if json.Unmarshal(raw, &v) == nil {
		return v
	}
	return strings.Trim(string(raw), `" `)
}

// push sends one event and waits at most 10 s for its reply.
func (s *socket) push(ctx context.Context, topic, event string, payload any) (socketReply, error) {
	ctx, done := context.WithTimeout(ctx, 10*time.Second)
	defer done()
	s.mu.Lock()
	s.ref++
	ref := strconv.Itoa(s.ref)
	ch := make(chan socketReply, 1)
	s.pending[ref] = ch
	var join any
	if event == "phx_join" {
		s.joins[topic] = ref
	}
	if j := s.joins[topic]; j != "" {
		join = j
	}
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.pending, ref)
		s.mu.Unlock()
	}()
	frame, err := json.Marshal([]any{join, ref, topic, event, payload})
	if err != nil {
		return socketReply{}, fmt.Errorf("encode %s: %w", event, err)
	}
	if err := s.conn.Write(ctx, websocket.MessageText, frame); err != nil {
		return socketReply{}, fmt.Errorf("push %s: %w", event, err)
	}
	select {
	case r := <-ch:
		if r.Status != "ok" {
			return r, fmt.Errorf("%s refused: %s", event, reason(r.Response))
		}
		return r, nil
	case <-s.ended:
		return socketReply{}, fmt.Errorf("push %s: the connection ended", event)
	case <-ctx.Done():
		return socketReply{}, fmt.Errorf("push %s: %w", event, ctx.Err())
	}
}

func reason(raw json.RawMessage) string {
	var r struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(raw, &r) != nil || r.Reason == "" {
		return "no reason given"
	}
	return r.Reason
}

// beat keeps the connection alive; a heartbeat that stays unanswered twice
// ends it, so that a dead network is noticed within about a minute.
func (s *socket) beat(ctx context.Context, every time.Duration) {
	t := time.NewTicker(every)
	defer t.Stop()
	missed := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		}
		if _, err := s.push(ctx, "phoenix", "heartbeat", struct{}{}); err != nil {
			if missed++; missed >= 2 {
				s.cancel(errHeartbeat)
				return
			}
			continue
		}
		missed = 0
	}
}
