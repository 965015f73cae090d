//go:build unix

package alarmcli_test

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/agntchat/agntchat/internal/bridge/bridgetest"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakemodel"
	"github.com/agntchat/agntchat/internal/letterbox/lockfile"
)

// person is somebody at a Codex whose app-server runs as a daemon.
type person struct {
	t    *testing.T
	conn *websocket.Conn
	id   int
}

func (l *lab) sitAtCodex() *person {
	l.t.Helper()
	socket := filepath.Join(l.home, "codex", "app-server-control", "app-server-control.sock")
	ctx, cancel := context.WithTimeout(l.t.Context(), time.Minute)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		conn, _, err := websocket.Dial(ctx, "ws://localhost/", &websocket.DialOptions{HTTPClient: client})
		if err == nil {
			conn.SetReadLimit(16 << 20)
			l.t.Cleanup(func() { _ = conn.CloseNow() })
			p := &person{t: l.t, conn: conn}
			p.call("initialize", map[string]any{"clientInfo": map[string]any{"name": "person", "version": "1"}, "capabilities": map[string]any{"experimentalApi": true}})
			p.write(map[string]any{"method": "initialized"})
			return p
		}
		select {
		case <-ctx.Done():
			l.t.Fatalf("the app-server does not listen: %v", err)
		case <-again.C:
		}
	}
}

func (p *person) write(v any) {
	p.t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.conn.Write(p.t.Context(), websocket.MessageText, raw); err != nil {
		p.t.Fatal(err)
	}
}

type event struct {
	ID     *int            `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  any             `json:"error"`
	Params json.RawMessage `json:"params"`
}

func (p *person) next() event {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	_, raw, err := p.conn.Read(ctx)
	if err != nil {
		p.t.Fatal(err)
	}
	var e event
	if err := json.Unmarshal(raw, &e); err != nil {
		p.t.Fatal(err)
	}
	return e
}

func (p *person) call(method string, params any) json.RawMessage {
	p.t.Helper()
	p.id++
	p.write(map[string]any{"id": p.id, "method": method, "params": params})
	for {
		e := p.next()
		if e.Method != "" || e.ID == nil || *e.ID != p.id {
			continue
		}
		if e.Error != nil {
			p.t.Fatalf("%s: %v", method, e.Error)
		}
		return e.Result
	}
}

// until waits for a notification.
func (p *person) until(method string) {
	p.t.Helper()
	for p.next().Method != method {
	}
}

// A real Codex that is idle begins a turn by itself when a letter of a verified contact comes: its hook started what watches, which asks over the control socket. What wakes it is the
// fixed text; the letter comes by the hook of that turn. With a second thread open nobody is woken.
func TestL5_CodexIsWokenWhenIdle(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.write("codex/config.toml", codexConfig(l.model.URL))
	l.letter("install", "codex", "-u", "alice")
	l.letter("wake", "on", "--codex", "-u", "alice")
	l.trust()
	l.model.On("first question", fakemodel.Step{Text: "first answer"})
	l.model.On("Letters of verified contacts wait", fakemodel.Step{Text: "bob wrote"})
	l.talk(bridgetest.CLI(t, "codex"), "app-server", "--listen", "unix://")
	codex := l.sitAtCodex()
	start := func() string {
		var r struct {
			Thread struct {
				ID string `json:"id"`
			} `json:"thread"`
		}
		raw := codex.call("thread/start", map[string]any{"cwd": filepath.Join(l.home, "work"), "approvalPolicy": "never"})
		if err := json.Unmarshal(raw, &r); err != nil || r.Thread.ID == "" {
			t.Fatalf("%v %s", err, raw)
		}
		return r.Thread.ID
	}
	thread := start()
	t.Cleanup(func() { // the watcher ends with its session
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, _ = l.reg.Unregister(thread)
		f, err := lockfile.Open(ctx, filepath.Join(l.user.Sessions(), ".codex-watch-"+thread+".lock"), true)
		if err != nil {
			t.Errorf("the watcher does not end: %v", err)
			return
		}
		_ = f.Close()
	})
	codex.call("turn/start", map[string]any{"threadId": thread, "input": []any{map[string]any{"type": "text", "text": "first question"}}})
	codex.until("turn/completed")
	if u, ok := l.reg.Lookup(thread); !ok || u != l.user {
		t.Fatal("the session is not registered under its thread's id")
	}
	l.arrives("are you there?")
	l.model.WaitFor("are you there?")
	woken := l.asked("/v1/responses", "are you there?")[0]
	if !strings.Contains(woken.Raw, "Letters of verified contacts wait") || quoted(woken.Raw, "are you there?") != 1 {
		t.Fatalf("not woken as it should be: %s", woken.Raw)
	}
	codex.until("turn/completed")
	marks := map[string]int64{}
	if err := json.Unmarshal([]byte(l.read(".retalk/alice/sessions/.codex-wake-state.json")), &marks); err != nil || len(marks) != 1 {
		t.Fatalf("marks %v %v", marks, err)
	}
}
