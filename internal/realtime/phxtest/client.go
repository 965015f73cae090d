// Package phxtest is a client of Phoenix Channels for tests: it joins, pushes,
// waits for events and tells how the server closed it. Every wait ends after
// Timeout by failing the test.
//
// It is not the judge of interoperability: that is the npm client in
// interop/phoenix.
package phxtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agntchat/agntchat/internal/realtime/phx"
)

// Timeout bounds every wait.
const Timeout = 10 * time.Second

// Options of a connection.
type Options struct {
	Token  string
	Params url.Values  // further query parameters
	Header http.Header // for example Origin
	VSN    string      // "" means 2.0.0
	// ReadBuffer, if not 0, sets the size of the kernel's receive buffer, to
	// make a slow reader slow soon.
	ReadBuffer int
}

// Message is one event that the server sent.
type Message struct {
	Topic, Event string
	JoinRef      phx.Ref
	Payload      json.RawMessage
}

// Reply is the answer to a push.
type Reply struct {
	Status   string          `json:"status"`
	Response json.RawMessage `json:"response"`
}

// Reason is response.reason of an error reply, or "".
func (r Reply) Reason() string {
	var body struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(r.Response, &body) != nil {
		return ""
	}
	return body.Reason
}

// Client is one socket. Its methods may be used from several goroutines, except
// that those which fail the test belong to the test's own goroutine.
type Client struct {
	t  testing.TB
	ws *websocket.Conn

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when anything below changes
	ref     int
	replies map[phx.Ref]Reply
	events  map[string][]Message // by topic, not yet taken
	closed  error
	paused  chan struct{} // not nil while paused; closed to resume
}

// Dial connects to the server at base (http://host:port) or fails the test. The
// socket is closed when the test ends.
func Dial(t testing.TB, base string, o Options) *Client {
	t.Helper()
	c, status, err := TryDial(t, base, o)
	if err != nil {
		t.Fatalf("dial: status %d: %v", status, err)
	}
	return c
}

// TryDial is Dial that returns the HTTP status of a refused upgrade, 0 when there
// was no answer.
func TryDial(t testing.TB, base string, o Options) (*Client, int, error) {
	t.Helper()
	query := url.Values{"token": {o.Token}, "vsn": {o.VSN}}
	if o.VSN == "" {
		query.Set("vsn", phx.Version)
	}
	for k, v := range o.Params {
		query[k] = v
	}
	dialer := &net.Dialer{Timeout: Timeout}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
		nc, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if tcp, ok := nc.(*net.TCPConn); ok && o.ReadBuffer > 0 {
			err = tcp.SetReadBuffer(o.ReadBuffer)
		}
		return nc, err
	}}
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	target := "ws" + strings.TrimPrefix(base, "http") + "/socket/websocket?" + query.Encode()
	ws, resp, err := websocket.Dial(ctx, target, &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: o.Header,
	})
	status := 0
	if resp != nil {
		status = resp.StatusCode
	}
	if err != nil {
		return nil, status, fmt.Errorf("dial: %w", err)
	}
	ws.SetReadLimit(-1)
	c := &Client{t: t, ws: ws, changed: make(chan struct{}), replies: map[phx.Ref]Reply{}, events: map[string][]Message{}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.read()
	}()
	t.Cleanup(func() {
		c.Resume()
		_ = ws.CloseNow()
		<-done
	})
	return c, status, nil
}

// Send writes a message without waiting for a reply and returns its ref.
func (c *Client) Send(joinRef phx.Ref, topic, event string, payload any) phx.Ref {
	c.t.Helper()
	c.mu.Lock()
	c.ref++
	ref := phx.Ref(fmt.Sprintf("%q", fmt.Sprint(c.ref)))
	c.mu.Unlock()
	if event == phx.EventJoin {
		joinRef = ref
	}
	raw, err := phx.Marshal(payload)
	if err != nil {
		c.t.Fatalf("push %s: %v", event, err)
	}
	c.SendText(string(phx.Append(nil, phx.Message{JoinRef: joinRef, Ref: ref, Topic: topic, Event: event, Payload: raw})))
	return ref
}

// SendText writes a text frame as it is. A socket that is gone is no failure:
// the server may have closed it already.
func (c *Client) SendText(text string) { c.write(websocket.MessageText, []byte(text)) }

// SendBinary writes a binary frame.
func (c *Client) SendBinary(data []byte) { c.write(websocket.MessageBinary, data) }

func (c *Client) write(kind websocket.MessageType, data []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	_ = c.ws.Write(ctx, kind, data)
}

// Heartbeat sends a heartbeat and waits for its reply. Everything that the server
// sent before answering has been received when it returns.
func (c *Client) Heartbeat() Reply {
	c.t.Helper()
	return c.Await(c.Send("", phx.TopicPhoenix, phx.EventHeartbeat, nil))
}

// Ping sends a WebSocket ping and waits for the pong.
func (c *Client) Ping() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), Timeout)
	defer cancel()
	if err := c.ws.Ping(ctx); err != nil {
		c.t.Fatalf("ping: %v", err)
	}
}

// Await waits for the reply to ref.
func (c *Client) Await(ref phx.Ref) Reply {
	c.t.Helper()
	var r Reply
	c.wait("reply to "+string(ref), func() bool {
		var ok bool
		r, ok = c.replies[ref]
		delete(c.replies, ref)
		return ok
	})
	return r
}

// Closed waits until the server has ended the socket and returns the close code,
// -1 when there was no close frame, and the reason.
func (c *Client) Closed() (code int, reason string) {
	c.t.Helper()
	c.waitAny("close", func() bool { return c.closed != nil })
	c.mu.Lock()
	defer c.mu.Unlock()
	if ce, ok := errors.AsType[websocket.CloseError](c.closed); ok {
		return int(ce.Code), ce.Reason
	}
	return -1, ""
}

// Close closes the socket with code 1001 and waits for the handshake.
func (c *Client) Close() { _ = c.ws.Close(websocket.StatusGoingAway, "") }

// Cut drops the TCP connection without a close frame.
func (c *Client) Cut() { _ = c.ws.CloseNow() }

// Pause stops reading from the socket after the message that is being read.
func (c *Client) Pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused == nil {
		c.paused = make(chan struct{})
	}
}

// Resume reads again.
func (c *Client) Resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused != nil {
		close(c.paused)
		c.paused = nil
	}
}

func (c *Client) read() {
	for {
		c.mu.Lock()
		paused := c.paused
		c.mu.Unlock()
		if paused != nil {
			<-paused
		}
		_, data, err := c.ws.Read(context.Background())
		c.mu.Lock()
		if err != nil {
			c.closed = err
		} else {
			c.file(data)
		}
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *Client) file(data []byte) {
	m, err := phx.Decode(data)
	if err != nil {
		c.t.Errorf("server sent %q: %v", data, err)
		return
	}
	if m.Event == phx.EventReply {
		var r Reply
		if err := json.Unmarshal(m.Payload, &r); err != nil {
			c.t.Errorf("server sent a reply %q: %v", data, err)
			return
		}
		c.replies[m.Ref] = r
		return
	}
	c.events[m.Topic] = append(c.events[m.Topic], Message{
		Topic: m.Topic, Event: m.Event, JoinRef: m.JoinRef, Payload: m.Payload,
	})
}

// wait blocks until ok, called under the mutex, is true. It fails the test when
// the time is up or the socket has ended.
func (c *Client) wait(what string, ok func() bool) {
	c.t.Helper()
	c.waitAny(what, func() bool {
		if ok() {
			return true
		}
		if c.closed != nil {
			c.t.Fatalf("socket ended while waiting for %s: %v", what, c.closed)
		}
		return false
	})
}

func (c *Client) waitAny(what string, ok func() bool) {
	c.t.Helper()
	timer := time.NewTimer(Timeout)
	defer timer.Stop()
	for {
		c.mu.Lock()
		done, changed := func() (bool, chan struct{}) {
			defer c.mu.Unlock()
			return ok(), c.changed
		}()
		if done {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			c.t.Fatalf("timed out waiting for %s", what)
		}
	}
}
