package judgetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

func (r *goldenRun) playHTTP(t *testing.T, e golden) {
	t.Helper()
	// Both clients' conventions at once: Content-Type on everything (desktop 1.1)
	// and bodies that may be empty.
	c := call{method: e.Method, path: r.fill(t, e.Path), header: map[string]string{"Content-Type": "application/json"}}
	for k, v := range e.Headers {
		c.header[k] = r.fill(t, v)
	}
	if e.Raw != nil {
		c.raw = []byte(r.fill(t, *e.Raw))
	} else if e.Body != nil {
		c.body = r.fillAny(t, e.Body)
	}
	what, token := e.Method+" "+e.Path, r.fill(t, e.Auth)
	if e.Later != "" {
		done := make(chan openCall, 1)
		r.open[e.Later] = done
		ctx := r.ctx
		go func() {
			a, err := r.rest.send(ctx, token, c)
			done <- openCall{what, a, err}
		}()
		return
	}
	ctx, stop := context.WithTimeout(t.Context(), r.g.patience())
	defer stop()
	a, err := r.rest.send(ctx, token, c)
	if err != nil {
		t.Fatalf("[%s] %v", e.Section, err)
	}
	r.answered(t, e, what, c, a)
}

// await judges the answer of a call that was left open.
func (r *goldenRun) await(t *testing.T, e golden) {
	t.Helper()
	done := r.open[e.Await]
	if done == nil {
		t.Fatalf("no call was left open as %q", e.Await)
	}
	select {
	case end := <-done:
		if end.err != nil {
			t.Fatalf("[%s] %v", e.Section, end.err)
		}
		r.answered(t, e, end.what, call{}, end.a)
	case <-time.After(r.g.patience()):
		t.Fatalf("[%s] the call left open as %q is not answered", e.Section, e.Await)
	}
}

func (r *goldenRun) answered(t *testing.T, e golden, what string, c call, a Answer) {
	t.Helper()
	if !slices.Contains(e.Status, a.Status) {
		t.Fatalf("[%s] %s: status %d, accepted are %v; body %s", e.Section, what, a.Status, e.Status, clip(string(a.Body), 400))
	}
	if a.OK() && !c.elsewhere() && a.Status != http.StatusNoContent && e.Method != http.MethodOptions && !json.Valid(a.Body) {
		t.Errorf("[desktop 1.2] %s: status %d without a JSON body", what, a.Status)
	}
	for name, want := range e.Header {
		if err := headerFits(a.Header.Get(name), r.fill(t, want)); err != nil {
			t.Errorf("[%s] %s: header %s %v", e.Section, what, name, err)
		}
	}
	r.substrings(t, e, what, string(a.Body))
	if e.Verdict != "" {
		read := toolVerdict
		if strings.HasPrefix(e.Verdict, "rpc_") {
			read = rpcVerdict
		}
		text, ok := read(a)
		if ok != strings.HasSuffix(e.Verdict, "success") {
			t.Errorf("[%s] %s: the bridge reads this as success=%v (%s), want %s", e.Section, what, ok, clip(text, 200), e.Verdict)
		}
	}
	if a.Status == http.StatusNoContent {
		return // every shape stands for an answer that has a body
	}
	r.judge(t, e, what, a.JSON)
}

func (r *goldenRun) substrings(t *testing.T, e golden, what, body string) {
	t.Helper()
	for _, s := range e.Forbid {
		if strings.Contains(body, r.fill(t, s)) {
			t.Errorf("[%s] %s: the answer contains what it must not: %s", e.Section, what, s)
		}
	}
	if len(e.Within) > 0 && !slices.ContainsFunc(e.Within, func(s string) bool { return strings.Contains(body, r.fill(t, s)) }) {
		t.Errorf("[%s] %s: the answer names none of %v: %s", e.Section, what, e.Within, clip(body, 300))
	}
}

func headerFits(got, want string) error {
	op, v := want[:1], want[1:]
	switch op {
	case "=":
		if got == v || v != "" && got == "*" {
			return nil
		}
	case "!":
		if got != v {
			return nil
		}
	case "~":
		for item := range strings.SplitSeq(got, ",") {
			if item = strings.TrimSpace(item); strings.EqualFold(item, v) || item == "*" {
				return nil
			}
		}
	}
	return fmt.Errorf("is %q, want %q", got, want)
}

// among tells whether s is one of the alternatives "a|b".
func among(alternatives, s string) bool {
	return slices.Contains(strings.Split(alternatives, "|"), s)
}

// goldenSocket keeps what a connection received until an entry consumes it.
type goldenSocket struct {
	sock *phxSocket
	watched
	inbox []frame
}

func (r *goldenRun) playSocket(t *testing.T, e golden) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), r.g.patience())
	defer stop()
	if e.Socket == "connect" {
		r.connect(ctx, t, e)
		return
	}
	s := r.subs[e.On]
	if s == nil {
		t.Fatalf("[%s] no connection %q", e.Section, e.On)
	}
	topic := r.fill(t, e.Topic)
	switch e.Socket {
	case "push":
		r.push(ctx, t, e, s, topic)
	case "expect":
		r.expect(ctx, t, e, s, topic)
	case "silence":
		r.silence(ctx, t, e, s, topic)
	case "close":
		s.sock.kill()
		delete(r.subs, e.On)
	default:
		t.Fatalf("unknown socket step %q", e.Socket)
	}
}

func (r *goldenRun) connect(ctx context.Context, t *testing.T, e golden) {
	t.Helper()
	s := &goldenSocket{}
	sock, err := dialSocket(ctx, r.g.base(), r.fill(t, e.Auth), r.led,
		socketOptions{who: "golden " + e.On, origin: e.Headers["Origin"], heartbeat: 30 * time.Second, answerIn: 10 * time.Second, browser: e.Headers["Origin"] != ""},
		func(f frame) { s.change(func() { s.inbox = append(s.inbox, f) }) })
	if e.Refused {
		var refused errRefused
		switch {
		case err == nil:
			sock.kill()
			t.Errorf("[%s] the upgrade was accepted", e.Section)
		case !errors.As(err, &refused):
			t.Errorf("[%s] the upgrade has to be refused with an HTTP status: %v", e.Section, err)
		}
		return
	}
	if err != nil {
		t.Fatalf("[%s] connect: %v", e.Section, err)
	}
	s.sock = sock
	r.subs[e.On] = s
}

func (r *goldenRun) push(ctx context.Context, t *testing.T, e golden, s *goldenSocket, topic string) {
	t.Helper()
	payload := r.fillAny(t, e.Payload)
	if payload == nil {
		payload = map[string]any{}
	}
	if e.Reply == "none" {
		if _, _, err := s.sock.write(ctx, topic, e.Event, payload, false); err != nil {
			t.Fatalf("[%s] %v", e.Section, err)
		}
		return
	}
	response, err := s.sock.push(ctx, topic, e.Event, payload)
	var refused errReply
	switch {
	case err != nil && !errors.As(err, &refused):
		t.Fatalf("[%s] %v", e.Section, err)
	case (err != nil) != (e.Reply == "error"):
		t.Fatalf("[%s] push %s: want a reply with status %s, got response %s (%v)", e.Section, e.Event, e.Reply, brief(response), err)
	}
	r.judge(t, e, "reply to "+e.Event, response)
}

// expect consumes the first received event of that topic and name whose payload
// has the shape; others stay for later entries.
func (r *goldenRun) expect(ctx context.Context, t *testing.T, e golden, s *goldenSocket, topic string) {
	t.Helper()
	var shape any
	if e.Shape != nil {
		shape = r.fillAny(t, e.Shape)
	}
	m := matcher{clock: &r.led.clock}
	var nearest []string
	var hit frame
	err := s.until(ctx, e.Event, func() bool {
		for i, f := range s.inbox {
			if !among(e.Event, f.Event) || !among(topic, f.Topic) {
				continue
			}
			var bad []string
			if shape != nil {
				bad = m.match(e.Event, shape, f.Payload)
			}
			if len(bad) == 0 {
				hit = f
				s.inbox = slices.Delete(s.inbox, i, i+1)
				return true
			}
			if nearest == nil || len(bad) <= len(nearest) {
				nearest = bad
			}
		}
		return false
	})
	if err != nil {
		t.Fatalf("[%s] no %s on %s that fits; nearest misses: %v", e.Section, e.Event, topicKind(topic), nearest)
	}
	rest := e
	rest.Shape = nil
	r.judge(t, rest, e.Event, hit.Payload)
}

// silence checks that no such event was received so far. It is meant after an
// exchange whose effects have been seen, so it does not wait.
func (r *goldenRun) silence(ctx context.Context, t *testing.T, e golden, s *goldenSocket, topic string) {
	t.Helper()
	// A round trip on the same connection flushes what was on its way.
	if _, err := s.sock.push(ctx, "phoenix", "heartbeat", map[string]any{}); err != nil {
		t.Fatalf("[%s] %v", e.Section, err)
	}
	shape := any("$any")
	if e.Shape != nil {
		shape = r.fillAny(t, e.Shape)
	}
	m := matcher{clock: &r.led.clock}
	s.read(func() {
		for _, f := range s.inbox {
			if among(e.Event, f.Event) && among(topic, f.Topic) && len(m.match(e.Event, shape, f.Payload)) == 0 {
				t.Errorf("[%s] %s arrived on %s although it must not: %s", e.Section, e.Event, topicKind(topic), brief(f.Payload))
			}
		}
	})
}
