package judgetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// frameCap is the largest text frame the Python client survives (bridge 2.1).
const frameCap = 1 << 20

// frame is one decoded Phoenix V2 message.
type frame struct {
	JoinRef, Ref string // "" when null
	Topic, Event string
	Payload      any
}

func (f frame) object() map[string]any { m, _ := f.Payload.(map[string]any); return m }

// socketOptions say whose rules the connection follows.
type socketOptions struct {
	who       string
	origin    string        // Origin header; "" sends none
	heartbeat time.Duration // Phoenix heartbeat, 30 s in both clients
	answerIn  time.Duration // how long a heartbeat, join or push reply may take
	browser   bool          // desktop rules: close code 1000 is a breach (desktop 3.1)
}

// phxSocket is a Phoenix Channels V2 client connection over text frames. Refs
// are decimal strings from "1" per connection. It owns a reader and a heartbeat
// goroutine that end with the connection.
type phxSocket struct {
	led   *Ledger
	opt   socketOptions
	conn  *websocket.Conn
	onEvt func(frame) // called from the reader; must not block
	done  chan struct{}

	mu      sync.Mutex
	next    int
	pending map[string]chan frame
	refOf   map[string]string // ref → join_ref it was sent with
	joined  map[string]string // topic → join_ref of the latest join sent
	joinOf  map[string]string // ref of a join in flight → topic
	settled map[string]string // topic → join_ref of the latest join answered
	closing bool
	cause   error
	cancel  context.CancelFunc
}

// errRefused means that the server refused the upgrade with an HTTP status.
type errRefused struct{ status int }

func (e errRefused) Error() string { return fmt.Sprintf("upgrade refused with %d", e.status) }

// errReply is an error reply to a join or push.
type errReply struct {
	event  string
	reason string
}

func (e errReply) Error() string { return fmt.Sprintf("%s refused: %s", e.event, e.reason) }

func dialSocket(ctx context.Context, base, token string, led *Ledger, opt socketOptions, onEvt func(frame)) (*phxSocket, error) {
	u := "ws" + strings.TrimPrefix(base, "http") + "/socket/websocket?" + url.Values{"token": {token}, "vsn": {"2.0.0"}}.Encode()
	header := http.Header{}
	if opt.origin != "" {
		header.Set("Origin", opt.origin)
	}
	dctx, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	conn, res, err := websocket.Dial(dctx, u, &websocket.DialOptions{HTTPHeader: header, CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		if res != nil && res.StatusCode != http.StatusSwitchingProtocols {
			return nil, errRefused{res.StatusCode}
		}
		return nil, errors.New("dial socket: " + strings.ReplaceAll(err.Error(), url.QueryEscape(token), "…"))
	}
	conn.SetReadLimit(64 << 20)
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s := &phxSocket{
		led: led, opt: opt, conn: conn, onEvt: onEvt, done: make(chan struct{}), cancel: cancel,
		pending: map[string]chan frame{}, refOf: map[string]string{}, joined: map[string]string{},
		joinOf: map[string]string{}, settled: map[string]string{},
	}
	go s.read(run)
	go s.beat(run)
	return s, nil
}

// alive tells whether the reader still runs.
func (s *phxSocket) alive() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// kill drops the TCP connection without a closing handshake.
func (s *phxSocket) kill() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.cancel()
	_ = s.conn.CloseNow()
	<-s.done
}

// close says goodbye as the real clients do on a graceful stop.
func (s *phxSocket) close() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	_ = s.conn.Close(websocket.StatusNormalClosure, "")
	s.cancel()
	<-s.done
}

func (s *phxSocket) read(ctx context.Context) {
	defer close(s.done)
	defer s.cancel()
	for {
		kind, data, err := s.conn.Read(ctx)
		if err != nil {
			s.mu.Lock()
			s.cause = err
			ours := s.closing
			s.mu.Unlock()
			if s.opt.browser && !ours && websocket.CloseStatus(err) == websocket.StatusNormalClosure {
				s.led.Break(s.opt.who, "desktop 3.1", "server closed the socket with 1000, which stops reconnection")
			}
			return
		}
		if kind != websocket.MessageText {
			s.led.Break(s.opt.who, "bridge 2.1", "binary frame of %d bytes", len(data))
			_ = s.conn.Close(websocket.StatusInvalidFramePayloadData, "")
			continue
		}
		if len(data) >= frameCap {
			s.led.Break(s.opt.who, "bridge 2.1", "frame of %d bytes, the limit is below 1 MiB", len(data))
			_ = s.conn.Close(websocket.StatusMessageTooBig, "")
			continue
		}
		f, err := decodeFrame(data)
		if err != nil {
			s.led.Break(s.opt.who, "bridge 2.1", "%v", err)
			continue
		}
		s.route(f)
	}
}

func decodeFrame(data []byte) (frame, error) {
	var parts []any
	if err := json.Unmarshal(data, &parts); err != nil {
		return frame{}, fmt.Errorf("frame is not a JSON array: %s", clip(string(data), 120))
	}
	if len(parts) != 5 {
		return frame{}, fmt.Errorf("frame has %d entries, not 5", len(parts))
	}
	var f frame
	for i, dst := range []*string{&f.JoinRef, &f.Ref, &f.Topic, &f.Event} {
		switch v := parts[i].(type) {
		case string:
			*dst = v
		case nil:
			if i >= 2 {
				return frame{}, errors.New("frame without topic or event")
			}
		default:
			return frame{}, fmt.Errorf("frame entry %d is %T, not a string", i, v)
		}
	}
	f.Payload = parts[4]
	if f.object() == nil {
		return frame{}, fmt.Errorf("payload of %s is not an object: %s", f.Event, brief(f.Payload))
	}
	return f, nil
}

func (s *phxSocket) route(f frame) {
	s.mu.Lock()
	if f.Event == "phx_reply" {
		ch, sentWith := s.pending[f.Ref], s.refOf[f.Ref]
		delete(s.pending, f.Ref)
		delete(s.refOf, f.Ref)
		if topic, ok := s.joinOf[f.Ref]; ok {
			delete(s.joinOf, f.Ref)
			s.settled[topic] = f.Ref
		}
		s.mu.Unlock()
		if status, _ := f.object()["status"].(string); status != "ok" && status != "error" {
			s.led.Break(s.opt.who, "bridge 2.3", "reply with status %s", brief(f.object()["status"]))
		}
		if _, ok := f.object()["response"].(map[string]any); !ok {
			s.led.Break(s.opt.who, "bridge 2.3", "reply without a response object: %s", brief(f.Payload))
		}
		if ch == nil {
			return // late, or to a push that awaits none
		}
		if f.JoinRef != sentWith {
			s.led.Break(s.opt.who, "desktop 3.1", "reply to ref %s carries join_ref %q, the request had %q", f.Ref, f.JoinRef, sentWith)
		}
		ch <- f
		return
	}
	current, joined := s.joined[f.Topic]
	joined = joined && s.settled[f.Topic] == current
	s.mu.Unlock()
	// While a second join of the topic is in flight, frames of the first may
	// still be on their way.
	if joined && f.JoinRef != "" && f.JoinRef != current && f.Event != "phx_close" && f.Event != "phx_error" {
		s.led.Break(s.opt.who, "desktop 3.1", "%s on %s carries join_ref %q, current is %q: the client drops it", f.Event, topicKind(f.Topic), f.JoinRef, current)
		return
	}
	s.onEvt(f)
}

func topicKind(topic string) string { kind, _, _ := strings.Cut(topic, ":"); return kind + ":…" }

// write sends one frame and returns the channel of its reply.
func (s *phxSocket) write(ctx context.Context, topic, event string, payload any, wantReply bool) (chan frame, string, error) {
	s.mu.Lock()
	s.next++
	ref := strconv.Itoa(s.next)
	var joinRef any
	if event == "phx_join" {
		joinRef = ref
		s.joined[topic], s.joinOf[ref] = ref, topic
	} else if jr, ok := s.joined[topic]; ok {
		joinRef = jr
	}
	var ch chan frame
	if wantReply {
		ch = make(chan frame, 1)
		s.pending[ref] = ch
		s.refOf[ref], _ = joinRef.(string)
	}
	s.mu.Unlock()
	b, err := json.Marshal([]any{joinRef, ref, topic, event, payload})
	if err != nil {
		return nil, ref, fmt.Errorf("encode frame: %w", err)
	}
	if err := s.conn.Write(ctx, websocket.MessageText, b); err != nil {
		return nil, ref, fmt.Errorf("push %s: %w", event, err)
	}
	return ch, ref, nil
}

// push sends an event and waits for its reply; an error reply is an errReply.
func (s *phxSocket) push(ctx context.Context, topic, event string, payload any) (map[string]any, error) {
	ch, _, err := s.write(ctx, topic, event, payload, true)
	if err != nil {
		return nil, err
	}
	timer := time.NewTimer(s.opt.answerIn)
	defer timer.Stop()
	select {
	case f := <-ch:
		response, _ := f.object()["response"].(map[string]any)
		if f.object()["status"] != "ok" {
			reason, _ := response["reason"].(string)
			return response, errReply{event: event, reason: reason}
		}
		return response, nil
	case <-s.done:
		return nil, fmt.Errorf("push %s: socket ended: %w", event, s.cause)
	case <-timer.C:
		return nil, fmt.Errorf("push %s on %s: no reply within %s", event, topicKind(topic), s.opt.answerIn)
	case <-ctx.Done():
		return nil, fmt.Errorf("push %s: %w", event, ctx.Err())
	}
}

func (s *phxSocket) join(ctx context.Context, topic string, params any) (map[string]any, error) {
	res, err := s.push(ctx, topic, "phx_join", params)
	if err != nil {
		s.forget(topic)
	}
	return res, err
}

func (s *phxSocket) leave(ctx context.Context, topic string) error {
	_, err := s.push(ctx, topic, "phx_leave", map[string]any{})
	s.forget(topic)
	return err
}

func (s *phxSocket) forget(topic string) {
	s.mu.Lock()
	delete(s.joined, topic)
	s.mu.Unlock()
}

// beat keeps the Phoenix heartbeat: three attempts two seconds apart, then the
// client closes and reconnects (bridge 2.2).
func (s *phxSocket) beat(ctx context.Context) {
	for {
		if wait(ctx, s.opt.heartbeat) != nil {
			return
		}
		ok := false
		for range 3 {
			if _, err := s.push(ctx, "phoenix", "heartbeat", map[string]any{}); err == nil {
				ok = true
				break
			}
			if ctx.Err() != nil || wait(ctx, 2*time.Second) != nil {
				return
			}
		}
		if !ok {
			s.led.Break(s.opt.who, "bridge 2.2", "heartbeat not answered three times")
			_ = s.conn.CloseNow()
			return
		}
		// The Python library also pings, with 20 s for the pong (bridge 2.1).
		pctx, stop := context.WithTimeout(ctx, 20*time.Second)
		err := s.conn.Ping(pctx)
		stop()
		if err != nil && ctx.Err() == nil {
			s.led.Break(s.opt.who, "bridge 2.1", "WebSocket ping not answered")
		}
	}
}
