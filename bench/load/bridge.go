package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Call says where and how bridge, posts and exchange speak.
type Call struct {
	Path, Topic, Params string // bridge: its socket
	Token, Executor     string // bridge: for its acks
	Bodies              []Body // posts: in turn
	Body                string // exchange
	Conns               int    // exchange
	Rate, Seconds       float64
}

// Body is one request.
type Body struct{ Path, Token, JSON string }

// bridge is a stock bridge that acknowledges each message at once, and accepts and
// completes each task.
type bridge struct {
	addr string
	call Call
	sock *sock
	http *http.Client

	mu     sync.Mutex
	posted map[int]time.Time
	lat    *histogram
	start  *histogram // of accept
	done   chan struct{}
	broken chan error
	acks   sync.WaitGroup
}

// bridge joins an agent's topic as its executor and serves until the process ends.
func (c *crowd) bridge(o Order) error {
	fd, err := dial(o.Addr, 0, false)
	if err != nil {
		return err
	}
	b := &bridge{
		addr: o.Addr, call: o.Call, sock: &sock{fd: fd, spec: &Spec{Path: o.Call.Path, Topic: o.Call.Topic, Params: o.Call.Params}},
		http: client(), posted: map[int]time.Time{}, done: make(chan struct{}, 100_000), broken: make(chan error, 1),
	}
	rest, err := b.sock.upgrade(o.Addr)
	if err == nil {
		err = b.sock.write(frame([]byte(fmt.Sprintf(`["1","2",%q,"catchup",{}]`, o.Call.Topic))))
	}
	if err != nil {
		return errors.Join(err, syscall.Close(fd))
	}
	none := syscall.Timeval{}
	_ = syscall.SetsockoptTimeval(fd, syscall.SOL_SOCKET, syscall.SO_RCVTIMEO, &none)
	c.mu.Lock()
	c.bridges[o.Set] = b
	c.mu.Unlock()
	go b.serve(rest)
	return nil
}

func client() *http.Client {
	return &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
}

func (b *bridge) fail(err error) {
	select {
	case b.broken <- err:
	default:
	}
}

func (b *bridge) serve(buf []byte) {
	for {
		payload, rest, ok := cut(buf)
		if !ok {
			var err error
			if buf, err = b.sock.more(buf); err != nil {
				b.fail(fmt.Errorf("the bridge's socket: %w", err))
				return
			}
			continue
		}
		at := time.Now()
		if bytes.Contains(payload[:min(len(payload), 200)], []byte(`"gateway_message"`)) {
			b.message(payload, at)
		}
		if bytes.Contains(payload[:min(len(payload), 200)], []byte(`"gateway_task"`)) {
			b.task(payload, at)
		}
		buf = rest
	}
}

func (b *bridge) message(p []byte, at time.Time) {
	var tuple [5]json.RawMessage
	var m struct{ ID, Content string }
	if err := errors.Join(json.Unmarshal(p, &tuple), json.Unmarshal(tuple[4], &m)); err != nil {
		b.fail(err)
		return
	}
	b.acks.Go(func() { b.ack(m.ID) })
	b.arrived(m.Content, at)
}

// arrived notes how long the marked text was on its way.
func (b *bridge) arrived(text string, at time.Time) {
	i := strings.IndexByte(text, '#')
	if i < 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := digits([]byte(text[i+1:])); !b.posted[n].IsZero() && b.lat != nil {
		b.lat.add(at.Sub(b.posted[n]))
		delete(b.posted, n)
		b.done <- struct{}{}
	}
}

// task accepts a task and completes it.
func (b *bridge) task(p []byte, at time.Time) {
	var tuple [5]json.RawMessage
	var t struct {
		ID, TaskID string
		Task       struct{ Title string }
	}
	if err := errors.Join(json.Unmarshal(p, &tuple), json.Unmarshal(tuple[4], &t)); err != nil {
		b.fail(err)
		return
	}
	b.acks.Go(func() {
		accept := Body{Path: "/api/gateway/tasks/" + t.ID + "/accept", Token: b.call.Token, JSON: fmt.Sprintf(`{"executor_id":%q}`, b.call.Executor)}
		if err := send(b.http, b.addr, accept); err != nil {
			b.fail(fmt.Errorf("accept: %w", err))
			return
		}
		b.mu.Lock()
		if b.start != nil {
			b.start.add(time.Since(at))
		}
		b.mu.Unlock()
		err := send(b.http, b.addr, Body{Path: "/api/mcp", Token: b.call.Token, JSON: fmt.Sprintf(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"complete_task","arguments":{"task_id":%[1]q,"silent":false,"response":"done"},"_meta":{"context":{"task_id":%[1]q}}}}`, t.TaskID)})
		if err != nil {
			b.fail(fmt.Errorf("complete: %w", err))
		}
	})
	b.arrived(t.Task.Title, at)
}

func (b *bridge) ack(queueID string) {
	if b.call.Executor == "" {
		return // keeps what it was given
	}
	body := Body{Path: "/api/gateway/messages/" + queueID + "/ack", Token: b.call.Token, JSON: fmt.Sprintf(`{"executor_id":%q}`, b.call.Executor)}
	if err := send(b.http, b.addr, body); err != nil {
		b.fail(fmt.Errorf("ack: %w", err))
	}
}

func send(c *http.Client, addr string, b Body) error {
	req, err := http.NewRequest(http.MethodPost, "http://"+addr+b.Path, strings.NewReader(b.JSON))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if b.Token != "" {
		req.Header.Set("Authorization", "Bearer "+b.Token)
	}
	resp, err := c.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode/100 != 2 {
		err = fmt.Errorf("%s answered %d: %.200s", b.Path, resp.StatusCode, text)
	}
	return err
}

// posts sends messages or tasks at a fixed rate and waits until the bridge has them.
func (c *crowd) posts(o Order) (Answer, error) {
	c.mu.Lock()
	b := c.bridges[o.Set]
	c.mu.Unlock()
	if b == nil {
		return Answer{}, errors.New("no such bridge")
	}
	lat, start, web := &histogram{}, &histogram{}, client()
	b.mu.Lock()
	b.lat, b.start, b.posted = lat, start, map[int]time.Time{}
	b.mu.Unlock()
	begun := time.Now()
	count := max(int(o.Call.Rate*o.Call.Seconds), 1)
	for n := range count {
		time.Sleep(time.Until(begun.Add(time.Duration(float64(n) / o.Call.Rate * float64(time.Second)))))
		body := o.Call.Bodies[n%len(o.Call.Bodies)]
		body.JSON = string(marked(body.JSON, n))
		b.mu.Lock()
		b.posted[n] = time.Now()
		b.mu.Unlock()
		go func() {
			if err := send(web, o.Addr, body); err != nil {
				b.fail(fmt.Errorf("post: %w", err))
			}
		}()
	}
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	for n := range count {
		select {
		case <-b.done:
		case err := <-b.broken:
			return Answer{}, err
		case <-deadline.C:
			return Answer{}, fmt.Errorf("%d of %d messages reached the bridge", n, count)
		}
	}
	b.acks.Wait()
	return Answer{
		Messages: count, Deliveries: int64(count), Seconds: time.Since(begun).Seconds(), P50: lat.quantile(.5), P99: lat.quantile(.99),
		StartP50: start.quantile(.5), StartP99: start.quantile(.99),
	}, nil
}

// exchange repeats one request over kept connections as fast as it is answered.
func exchange(o Order) (Answer, error) {
	begun := time.Now()
	stop := begun.Add(time.Duration(o.Call.Seconds * float64(time.Second)))
	request := []byte("POST " + o.Call.Path + " HTTP/1.1\r\nHost: " + o.Addr + "\r\nContent-Type: application/json\r\nContent-Length: " +
		fmt.Sprint(len(o.Call.Body)) + "\r\n\r\n" + o.Call.Body)
	var lat histogram
	var mu sync.Mutex
	var first error
	total := 0
	var wg sync.WaitGroup
	for range o.Call.Conns {
		wg.Go(func() {
			n, err := exchangeOn(o.Addr, request, stop, &lat)
			mu.Lock()
			defer mu.Unlock()
			if total += n; first == nil {
				first = err
			}
		})
	}
	wg.Wait()
	return Answer{Messages: total, Seconds: time.Since(begun).Seconds(), P50: lat.quantile(.5), P99: lat.quantile(.99)}, first
}

func exchangeOn(addr string, request []byte, stop time.Time, lat *histogram) (n int, err error) {
	fd, err := dial(addr, 0, false)
	if err != nil {
		return 0, err
	}
	s := &sock{fd: fd}
	defer syscall.Close(fd)
	for time.Now().Before(stop) {
		at := time.Now()
		if err := s.write(request); err != nil {
			return n, err
		}
		answer, err := s.more(nil) // small: one segment
		if err != nil {
			return n, err
		}
		if !bytes.HasPrefix(answer, []byte("HTTP/1.1 200")) {
			return n, fmt.Errorf("answered %.200q", answer)
		}
		lat.add(time.Since(at))
		n++
	}
	return n, nil
}
