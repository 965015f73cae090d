package alarm_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agntchat/agntchat/internal/letterbox/alarm"
)

// codex is a scripted app-server on the control socket (contract letters 5.3).
type codex struct {
	home    string
	threads []string
	next    string
	status  string
	refuse  string        // a method that it refuses
	hang    chan struct{} // when set, it answers nothing until that is closed

	mu     sync.Mutex
	calls  []string
	texts  []string
	offer  string
	ended  chan struct{} // gets one for each connection that ended
	looked chan struct{} // gets one for each connection that only looked whether somebody listens
}

func newCodex(t *testing.T) *codex {
	t.Helper()
	home, err := os.MkdirTemp("", "codex-*") // short: a socket's path has 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	c := &codex{home: home, threads: []string{"s"}, status: "idle", ended: make(chan struct{}, 100), looked: make(chan struct{}, 1000)}
	if err := os.Mkdir(filepath.Join(home, "app-server-control"), 0o700); err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("unix", filepath.Join(home, "app-server-control", "app-server-control.sock"))
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(c.serve), ReadHeaderTimeout: time.Minute, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed { // one that asked nothing
			c.looked <- struct{}{}
		}
	}}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(ln) }()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
		_ = os.RemoveAll(home)
	})
	return c
}

func (c *codex) serve(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer func() {
		_ = conn.CloseNow()
		c.ended <- struct{}{}
	}()
	c.mu.Lock()
	c.offer = r.Header.Get("Sec-WebSocket-Extensions")
	c.mu.Unlock()
	for {
		_, raw, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		if c.hang != nil {
			<-c.hang
			return
		}
		var m struct {
			ID     *int   `json:"id"`
			RPC    string `json:"jsonrpc"`
			Method string `json:"method"`
			Params struct {
				Thread string `json:"threadId"`
				Input  []struct {
					Text string `json:"text"`
				} `json:"input"`
			} `json:"params"`
		}
		if json.Unmarshal(raw, &m) != nil || m.RPC != "" {
			return
		}
		c.mu.Lock()
		c.calls = append(c.calls, strings.TrimSpace(m.Method+" "+m.Params.Thread))
		for _, i := range m.Params.Input {
			c.texts = append(c.texts, i.Text)
		}
		result := map[string]any{}
		switch m.Method {
		case "thread/loaded/list":
			result["data"], result["nextCursor"] = c.threads, nil
			if c.next != "" {
				result["nextCursor"] = c.next
			}
		case "thread/read":
			result["thread"] = map[string]any{"status": map[string]any{"type": c.status}}
		}
		answer := map[string]any{"id": m.ID, "result": result}
		if m.Method == c.refuse {
			answer = map[string]any{"id": m.ID, "error": map[string]any{"code": -32600, "message": "no"}}
		}
		c.mu.Unlock()
		if m.ID == nil {
			continue
		}
		for _, v := range []any{map[string]any{"method": "thread/status/changed", "params": map[string]any{}}, answer} {
			out, err := json.Marshal(v)
			if err != nil || conn.Write(r.Context(), websocket.MessageText, out) != nil {
				return
			}
		}
	}
}

func (c *codex) did() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.calls)
}

var wakeCalls = []string{"initialize", "initialized", "thread/loaded/list", "thread/read s", "turn/start s"}

// Exactly the one idle thread that is the session is woken, with the fixed text, and without an offer to compress.
func TestL5_CodexIsWokenUnderItsConditions(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		set  func(*codex)
		want []string
	}{
		"idle":                {func(*codex) {}, wakeCalls},
		"several threads":     {func(c *codex) { c.threads = []string{"s", "t"} }, wakeCalls[:3]},
		"more threads behind": {func(c *codex) { c.next = "2" }, wakeCalls[:3]},
		"no thread":           {func(c *codex) { c.threads = nil }, wakeCalls[:3]},
		"another thread":      {func(c *codex) { c.threads = []string{"t"} }, wakeCalls[:3]},
		"busy":                {func(c *codex) { c.status = "active" }, wakeCalls[:4]},
		"failed":              {func(c *codex) { c.status = "systemError" }, wakeCalls[:4]},
		"refuses":             {func(c *codex) { c.refuse = "turn/start" }, wakeCalls},
		"refuses to begin":    {func(c *codex) { c.refuse = "initialize" }, wakeCalls[:1]},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCodex(t)
			tt.set(c)
			err := alarm.NudgeCodex(t.Context(), c.home, "s", alarm.WakeText)
			if (err == nil) != (name == "idle") || errors.Is(err, alarm.ErrStandDown) == (name == "idle" || strings.HasPrefix(name, "refuses")) {
				t.Errorf("error %v", err)
			}
			<-c.ended
			if got := c.did(); !slices.Equal(got, tt.want) {
				t.Errorf("calls %q", got)
			}
			if c.offer != "" {
				t.Errorf("offers %q", c.offer)
			}
			for _, text := range c.texts {
				if text != alarm.WakeText {
					t.Errorf("says %q", text)
				}
			}
		})
	}
	t.Run("hangs", func(t *testing.T) {
		t.Parallel()
		c := newCodex(t)
		c.hang = make(chan struct{})
		defer close(c.hang)
		if err := alarm.NudgeCodex(t.Context(), c.home, "s", alarm.WakeText); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	})
	t.Run("nobody", func(t *testing.T) {
		t.Parallel()
		if err := alarm.NudgeCodex(t.Context(), t.TempDir(), "s", alarm.WakeText); err == nil {
			t.Fatal("no error")
		}
	})
}

// watchCodex watches until the test ends it.
func (p *person) watchCodex(c *codex, session string) (end func()) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	done := make(chan error, 1)
	go func() { done <- alarm.WatchCodex(ctx, p.user, p.reg, session, c.home, p.now) }()
	var once sync.Once
	end = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				p.t.Error(err)
			}
		})
	}
	p.t.Cleanup(end)
	return end
}

// waits until the app-server did something more often than n times.
func (c *codex) waits(t *testing.T, call string, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		if count := len(slices.DeleteFunc(c.did(), func(s string) bool { return s != call })); count > n {
			return
		}
		select {
		case <-c.ended:
		case <-ctx.Done():
			t.Fatalf("%q is not called: %q", call, c.did())
		}
	}
}

// One wake for what is unread, also over a restart; the next one when that was read and something new came.
func TestL5_CodexIsWokenOnceForWhatIsUnread(t *testing.T) {
	t.Parallel()
	p, c := newPerson(t), newCodex(t)
	p.settings(func(s *alarm.Settings) { s.Wake, s.WakeCodexIdle = true, true })
	p.hook("s", alarm.SessionStart)
	end := p.watchCodex(c, "s")
	c.status = "active"
	p.arrives(bob, "secret words")
	c.waits(t, "thread/read s", 0) // busy: nothing happens, and nothing is marked
	if _, err := os.Stat(filepath.Join(p.user.Sessions(), ".codex-wake-state.json")); err == nil {
		t.Fatal("marked, though nobody was woken")
	}
	c.mu.Lock()
	c.status = "idle"
	c.mu.Unlock()
	c.waits(t, "turn/start s", 0)
	p.arrives(bob, "more")
	end()
	for len(c.looked) > 0 {
		<-c.looked
	}
	end = p.watchCodex(c, "s")
	<-c.looked
	end()
	if n := strings.Count(strings.Join(c.did(), "\n"), "turn/start"); n != 1 {
		t.Fatalf("%d wakes: %q", n, c.did())
	}
	if got := shown(t, "UserPromptSubmit", p.hook("s", alarm.PromptSubmit, "prompt", alarm.WakeText)); !strings.Contains(got, "> secret words") || !strings.Contains(got, "> more") {
		t.Fatal(got)
	}
	p.watchCodex(c, "s")
	p.arrives(bob, "new")
	c.waits(t, "turn/start s", 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.ContainsFunc(c.texts, func(s string) bool { return s != alarm.WakeText }) {
		t.Fatalf("%q", c.texts)
	}
}

// Without the flag nobody connects, and a watcher whose session ended, or that has a double, ends.
func TestL5_CodexWatcherEnds(t *testing.T) {
	t.Parallel()
	p, c := newPerson(t), newCodex(t)
	p.wake()
	p.hook("s", alarm.SessionStart)
	p.arrives(bob, "text")
	if err := alarm.WatchCodex(t.Context(), p.user, p.reg, "s", c.home, p.now); err != nil || len(c.did()) > 0 {
		t.Fatalf("%v %q", err, c.did())
	}
	p.settings(func(s *alarm.Settings) { s.Wake, s.WakeCodexIdle = true, true })
	p.watchCodex(c, "s")
	c.waits(t, "turn/start s", 0)
	if err := alarm.WatchCodex(t.Context(), p.user, p.reg, "s", c.home, p.now); err != nil { // there is one already
		t.Fatal(err)
	}
	if !alarm.CodexWatched(p.user, "s", alarm.Settings{Wake: true, WakeCodexIdle: true}) {
		t.Fatal("not seen")
	}
	if err := alarm.WatchCodex(t.Context(), p.user, p.reg, "unknown", c.home, p.now); err != nil {
		t.Fatal(err)
	}
}
