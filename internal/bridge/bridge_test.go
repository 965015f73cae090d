package bridge_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/bridge"
	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakemodel"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakeserver"
	"github.com/agntchat/agntchat/internal/bridge/session"
)

func config(t *testing.T, agents ...bridge.Agent) bridge.Config {
	t.Helper()
	timing := session.DefaultTiming()
	timing.StreamEvery, timing.BackoffMin, timing.Drain = 20*time.Millisecond, 10*time.Millisecond, 10*time.Second
	return bridge.Config{Agents: agents, Home: t.TempDir(), Version: "1.2.3", DeviceName: "here", Log: slog.New(slog.DiscardHandler), Timing: timing}
}

// machine offers every real backend, with a fake provider behind it.
func machine(t *testing.T, m *fakemodel.Server) bridge.Machine {
	t.Helper()
	home := t.TempDir()
	if err := os.MkdirAll(filepath.Join(home, "codex"), 0o700); err != nil {
		t.Fatal(err)
	}
	return bridge.Machine{
		Env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + home, "CLAUDE_CONFIG_DIR=" + filepath.Join(home, "claude"), "CODEX_HOME=" + filepath.Join(home, "codex"),
			"ANTHROPIC_BASE_URL=" + m.URL, "ANTHROPIC_API_KEY=sk-made-up-key",
		},
		ClaudePath: bridgetest.CLI(t, "claude"), CodexPath: bridgetest.CLI(t, "codex"),
		AnthropicKey: "sk-made-up-key", AnthropicURL: m.URL, OpenAIKey: "sk-made-up-key", OpenAIURL: m.URL + "/v1", OpenAIModel: "fake-model",
	}
}

func run(t *testing.T, c bridge.Config) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- bridge.Run(ctx, c) }()
	ended := false
	stop = func() error {
		if ended {
			return nil
		}
		ended = true
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(60 * time.Second):
			t.Error("the bridge did not stop")
			return nil
		}
	}
	t.Cleanup(func() { _ = stop() })
	return stop
}

// A message goes through claim, real CLI or SDK, fake provider, stream, tool
// and completion, on every backend; the server's profile chooses it.
func TestB2_WholeTurnOnEveryBackend(t *testing.T) {
	t.Parallel()
	for _, name := range []string{backend.ClaudeCLI, backend.CodexCLI, backend.Anthropic, backend.OpenAI} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, s := fakemodel.New(t), fakeserver.New(t)
			tool := fakemodel.Tool{Name: "get_messages", Args: `{"conversation_id":"current"}`}
			switch name {
			case backend.ClaudeCLI:
				tool.Name = "mcp__agntchat__get_messages"
			case backend.CodexCLI:
				tool.Namespace = "mcp__agntchat"
			}
			m.On("how are you", fakemodel.Step{Tools: []fakemodel.Tool{tool}}, fakemodel.Step{Text: "Well, on " + name + "."})
			s.Profile(func(p map[string]any) { p["modelConfig"] = map[string]any{"backend": name} })
			c := config(t, bridge.Agent{URL: s.URL, ID: s.AgentID, Key: s.Key})
			c.Machine = machine(t, m)
			run(t, c)
			row := s.WaitDone(s.Post("room", "how are you"))
			if row.Reply() != "Well, on "+name+"." || row.Body["turn"].(map[string]any)["backend"] != name {
				t.Fatalf("outcome %q: %v", row.Outcome, row.Body)
			}
			if n := len(s.Calls("/api/mcp/call")); n != 1 {
				t.Fatalf("%d tool calls reached the server", n)
			}
			if row.Body["usage"] == nil {
				t.Fatal("no usage was reported")
			}
		})
	}
}

func TestB1_OneProcessServesManyAgents(t *testing.T) {
	t.Parallel()
	a, b := fakeserver.New(t), fakeserver.New(t)
	c := config(t,
		bridge.Agent{URL: a.URL, ID: a.AgentID, Key: a.Key, Backend: "scripted"},
		bridge.Agent{URL: b.URL, ID: b.AgentID, Key: b.Key, Backend: "scripted"},
		bridge.Agent{URL: b.URL, ID: "unknown", Key: "ak_wrong", Backend: "scripted"},
	)
	stop := run(t, c)
	ra, rb := a.Post("room", "hello"), b.Post("room", "你好")
	if got := a.WaitDone(ra).Reply(); !strings.Contains(got, "I am a script") {
		t.Fatalf("reply %q", got)
	}
	if got := b.WaitDone(rb).Reply(); !strings.Contains(got, "我是一段脚本") {
		t.Fatalf("reply %q", got)
	}
	if err := stop(); !errors.Is(err, session.ErrKeyRefused) {
		t.Fatalf("error %v", err)
	}
}

func TestB1_MissingBackendIsVisible(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	c := config(t, bridge.Agent{URL: s.URL, ID: s.AgentID, Key: s.Key, Backend: "claude"})
	c.Machine.ClaudePath = "/nowhere/claude"
	run(t, c)
	row := s.WaitDone(s.Post("room", "hello"))
	msg, _ := row.Body["error"].(map[string]any)["message"].(string)
	if row.ErrorCode() != "backend_missing" || !strings.Contains(msg, "npm install") {
		t.Fatalf("outcome %v", row.Body)
	}
}

func TestB8_StoredProviderKeyIsUsed(t *testing.T) {
	t.Parallel()
	m, s := fakemodel.New(t), fakeserver.New(t)
	m.On("hello", fakemodel.Step{Text: "Hi."})
	s.Secret("anthropic", "sk-from-the-server")
	c := config(t, bridge.Agent{URL: s.URL, ID: s.AgentID, Key: s.Key, Backend: "anthropic"})
	c.Machine.AnthropicURL = m.URL
	run(t, c)
	s.WaitDone(s.Post("room", "hello"))
	if got := m.Requests("/v1/messages")[0].Header.Get("X-Api-Key"); got != "sk-from-the-server" {
		t.Fatalf("key %q", got)
	}
}

func TestB1_CheckTellsWhatIsWrong(t *testing.T) {
	t.Parallel()
	m, s := fakemodel.New(t), fakeserver.New(t)
	m.On("single word OK", fakemodel.Step{Text: "OK"})
	good := bridge.Agent{URL: s.URL, ID: s.AgentID, Key: s.Key, Backend: "anthropic"}
	with := func(change func(*bridge.Agent)) bridge.Agent { a := good; change(&a); return a }
	cases := []struct {
		name, says string
		agent      bridge.Agent
		err        error
	}{
		{"fine", "ok    answer", good, nil},
		{"unreachable", "FAIL  server", with(func(a *bridge.Agent) { a.URL = "http://127.0.0.1:1" }), bridge.ErrServer},
		{"no agntchat", "is this the address of an agntchat server", with(func(a *bridge.Agent) { a.URL = m.URL }), bridge.ErrServer},
		{"bad key", "FAIL  key", with(func(a *bridge.Agent) { a.Key = "ak_wrong" }), session.ErrKeyRefused},
		{"unknown backend", "FAIL  model", with(func(a *bridge.Agent) { a.Backend = "gemini" }), bridge.ErrBackend},
	}
	for _, k := range cases {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			c := config(t, k.agent)
			c.Machine.AnthropicKey, c.Machine.AnthropicURL = "sk-made-up-key", m.URL
			err := bridge.Check(t.Context(), c, &out)
			if !errors.Is(err, k.err) || !strings.Contains(out.String(), k.says) || strings.Contains(out.String(), s.Key) {
				t.Fatalf("error %v, output:\n%s", err, out.String())
			}
		})
	}
}
