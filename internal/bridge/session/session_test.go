package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakeserver"
	"github.com/agntchat/agntchat/internal/bridge/session"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// puppet is a backend that a test moves.
type puppet struct {
	mu   sync.Mutex
	runs []backend.Turn
	do   func(ctx context.Context, t backend.Turn, emit func(backend.Event)) (backend.Result, error)
}

func (*puppet) Name() string                { return "puppet" }
func (*puppet) Check(context.Context) error { return nil }
func (*puppet) Close() error                { return nil }
func (p *puppet) Run(ctx context.Context, t backend.Turn, emit func(backend.Event)) (backend.Result, error) {
	p.mu.Lock()
	p.runs = append(p.runs, t)
	p.mu.Unlock()
	return p.do(ctx, t, emit)
}

func (p *puppet) turns() []backend.Turn {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]backend.Turn(nil), p.runs...)
}

func says(text string) *puppet {
	return &puppet{do: func(_ context.Context, _ backend.Turn, emit func(backend.Event)) (backend.Result, error) {
		emit(backend.Event{Kind: backend.Thinking})
		emit(backend.Event{Kind: backend.Text, Text: text})
		return backend.Result{Text: text, Model: "puppet-1", Usage: backend.Usage{Input: 3, Output: 2}, Iterations: 1}, nil
	}}
}

func fails(err error) *puppet {
	return &puppet{do: func(context.Context, backend.Turn, func(backend.Event)) (backend.Result, error) {
		return backend.Result{}, err
	}}
}

func fast() session.Timing {
	return session.Timing{
		Heartbeat: 50 * time.Millisecond, SocketBeat: 200 * time.Millisecond, StreamEvery: 5 * time.Millisecond, StreamQuiet: time.Second,
		BackoffMin: 5 * time.Millisecond, BackoffMax: 50 * time.Millisecond, Call: 5 * time.Second, Drain: 10 * time.Second,
		KeepLost: time.Hour, Refresh: time.Minute, Tool: 5 * time.Second, Turn: 30 * time.Second,
	}
}

func options(t *testing.T, s *fakeserver.Server, b backend.Backend) session.Options {
	t.Helper()
	return session.Options{
		URL: s.URL, AgentID: s.AgentID, Key: s.Key, ExecutorKey: "test", Version: "1.2.3", DeviceName: "here", Dir: t.TempDir(),
		NewBackend: func(context.Context, session.Need) (backend.Backend, error) { return b, nil },
		Log:        slog.New(slog.DiscardHandler), Timing: fast(),
	}
}

// running is one started agent.
type running struct {
	stop context.CancelFunc
	done chan error
}

func start(t *testing.T, opt session.Options) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{stop: cancel, done: make(chan error, 1)}
	go func() { r.done <- session.New(opt).Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		r.wait(t)
	})
	return r
}

func (r *running) wait(t *testing.T) error {
	t.Helper()
	select {
	case err := <-r.done:
		r.done <- err
		return err
	case <-time.After(60 * time.Second):
		t.Fatal("the agent did not stop")
		return nil
	}
}

func TestB1_AnswerStreamsThenCompletesInOneCall(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	p := says("Hello Ann.")
	start(t, options(t, s, p))
	row := s.WaitDone(s.Post("room", "hello"))
	if row.Outcome != "answered" || row.Reply() != "Hello Ann." || row.Completions != 1 {
		t.Fatalf("outcome %q reply %q completions %d", row.Outcome, row.Reply(), row.Completions)
	}
	meta := row.Body["reply"].(map[string]any)["metadata"].(map[string]any)
	s.Wait("the stream to close", func() bool {
		f := s.Streams("room")
		return len(f) > 0 && f[len(f)-1].Status == "complete"
	})
	frames := s.Streams("room")
	if frames[0].Status != "started" || frames[0].Phase != "thinking" || meta["stream_id"] != frames[0].StreamID {
		t.Fatalf("first frame %+v, metadata %v", frames[0], meta)
	}
	if u := row.Body["usage"].(map[string]any); u["input_tokens"] != 3.0 {
		t.Fatalf("usage %v", u)
	}
	turn := p.turns()[0]
	if turn.System != "You are Nova. Be brief." || !strings.HasPrefix(turn.Volatile, "Now: ") || turn.Input[0].Render() != "[Human: Ann] hello" {
		t.Fatalf("turn %+v", turn)
	}
	reg := s.Registrations()[0]
	md := reg["metadata"].(map[string]any)
	if md["client"] != "agnt" || md["protocol"] != 1.0 || md["device_name"] != "here" || md["bridge_version"] != "1.2.3" {
		t.Fatalf("registration metadata %v", md)
	}
}

func TestB1_MergedMessagesAreOneTurn(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	p := says("both")
	start(t, options(t, s, p))
	s.WaitDone(s.Post("room", "second", map[string]any{
		"merged": []any{map[string]any{"id": "q0", "messageId": "m0", "content": "first", "senderName": "Ann", "senderType": "human"}},
		"recentMessages": []any{
			map[string]any{"id": "h1", "content": "older", "senderName": "Bo", "senderType": "agent", "contentType": "text"},
			map[string]any{"id": "m0", "content": "first", "senderName": "Ann", "senderType": "human"},
		},
	}))
	turn := p.turns()[0]
	if len(turn.Input) != 2 || turn.Input[0].Text != "first" || turn.Input[1].Text != "second" {
		t.Fatalf("input %+v", turn.Input)
	}
	if len(turn.History) != 1 || turn.History[0].Render() != "[Agent: Bo] older" {
		t.Fatalf("history %+v", turn.History)
	}
}

func TestB1_KeyRefusedEndsTheAgent(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	opt := options(t, s, says("x"))
	opt.Key = "ak_wrong"
	if err := start(t, opt).wait(t); !errors.Is(err, session.ErrKeyRefused) {
		t.Fatalf("error %v", err)
	}
}

func TestB1_RevokedKeyEndsARunningAgent(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	r := start(t, options(t, s, says("x")))
	s.Wait("online", s.Online)
	s.Revoke()
	if err := r.wait(t); !errors.Is(err, session.ErrKeyRefused) {
		t.Fatalf("error %v", err)
	}
}

func TestB1_ExpiredTokenIsRenewedOnce(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	start(t, options(t, s, says("still here")))
	s.Wait("online", s.Online)
	s.ExpireTokens()
	if row := s.WaitDone(s.Post("room", "hello")); row.Reply() != "still here" {
		t.Fatalf("reply %q", row.Reply())
	}
}

func TestB1_StartSurvivesAServerThatBoots(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Fail("/api/auth/agent-token", 2, 503, "unavailable")
	s.Fail("/api/me", 2, 500, "internal")
	s.Fail("/api/gateway/executors", 2, 502, "")
	start(t, options(t, s, says("ok")))
	s.WaitDone(s.Post("room", "hello"))
}

func TestB1_HeartbeatsDoNotWaitForWarmUp(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	opt := options(t, s, nil)
	opened := make(chan struct{})
	opt.NewBackend = func(ctx context.Context, _ session.Need) (backend.Backend, error) {
		select {
		case <-opened:
		case <-ctx.Done():
		}
		return says("late"), nil
	}
	start(t, opt)
	row := s.Post("room", "hello")
	s.Wait("heartbeats that name the claim", func() bool {
		n := 0
		for _, h := range s.Heartbeats() {
			if c, _ := h["claims"].([]any); len(c) == 1 {
				n++
			}
		}
		return n >= 3
	})
	close(opened)
	s.WaitDone(row)
}

func TestB1_ReconnectCatchesUp(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	start(t, options(t, s, says("ok")))
	s.Wait("online", s.Online)
	s.SetDown(true)
	row := s.Post("room", "while away")
	s.SetDown(false)
	s.WaitDone(row)
	if n := len(s.Registrations()); n != 1 {
		t.Fatalf("registered %d times", n)
	}
}

func TestB1_StopGenerationEndsTheTurn(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	running := make(chan struct{})
	p := &puppet{do: func(ctx context.Context, _ backend.Turn, _ func(backend.Event)) (backend.Result, error) {
		close(running)
		<-ctx.Done()
		return backend.Result{}, ctx.Err()
	}}
	start(t, options(t, s, p))
	row := s.Post("room", "slow")
	<-running
	s.Push("gateway_command", map[string]any{"type": "stop_generation", "conversation_id": "room", "reason": "user"})
	if got := s.WaitDone(row); got.Outcome != "stopped" || got.Body["reply"] != nil {
		t.Fatalf("outcome %q", got.Outcome)
	}
	f := s.Streams("room")
	if f[len(f)-1].Status != "cancelled" {
		t.Fatalf("last frame %+v", f[len(f)-1])
	}
}

func TestB1_ShutdownCommandEndsTheAgent(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	r := start(t, options(t, s, says("x")))
	s.Wait("online", s.Online)
	s.Push("gateway_command", map[string]any{"type": "shutdown", "reason": "replaced"})
	if err := r.wait(t); !errors.Is(err, session.ErrReplaced) {
		t.Fatalf("error %v", err)
	}
}

// Whoever finds a bridge ended because one was started elsewhere under the same name reads why, and how to run both.
func TestB1_ReplacedBridgeSaysHowToRunTwo(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	r := start(t, options(t, s, says("x")))
	s.Wait("online", s.Online)
	s.Push("gateway_command", map[string]any{"type": "shutdown", "reason": "superseded"})
	err := r.wait(t)
	if !errors.Is(err, session.ErrReplaced) || !strings.Contains(err.Error(), `same name "test"`) || !strings.Contains(err.Error(), "--executor-key") {
		t.Fatalf("error %v", err)
	}
}

func TestB1_OneProcessPerAgentAndMachine(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	opt := options(t, s, says("x"))
	start(t, opt)
	s.Wait("online", s.Online)
	if err := session.New(opt).Run(t.Context()); !errors.Is(err, session.ErrLocked) {
		t.Fatalf("error %v", err)
	}
}

func TestB1_EachFailureIsItsOwnState(t *testing.T) {
	t.Parallel()
	cases := []struct {
		err    error
		code   string
		health string
	}{
		{backend.Errorf(backend.CodeAuth, "key refused"), "auth_failure", "unauthenticated"},
		{&backend.Error{Code: backend.CodeRate, Message: "slow down", ResetAt: time.Now().Add(time.Minute)}, "rate_limited", "rate_limited"},
		{backend.Errorf(backend.CodeMissing, "no CLI"), "backend_missing", "missing_cli"},
		{backend.Errorf(backend.CodeModel, "overloaded"), "model_error", "error"},
		{backend.Errorf(backend.CodeKilled, "killed"), "killed", "ok"},
		{context.DeadlineExceeded, "timeout", "ok"},
		{errors.New("surprise"), "handler_exception", "ok"},
	}
	for _, c := range cases {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			s := fakeserver.New(t)
			start(t, options(t, s, fails(c.err)))
			row := s.WaitDone(s.Post("room", "hello"))
			if row.Outcome != "failed" || row.ErrorCode() != c.code {
				t.Fatalf("outcome %q code %q", row.Outcome, row.ErrorCode())
			}
			s.Wait("the health to arrive", func() bool {
				hs := s.Heartbeats()
				if len(hs) == 0 {
					return false
				}
				h := hs[len(hs)-1]["backend_health"].(map[string]any)
				return h["status"] == c.health && (c.health != "rate_limited" || h["reset_at"] != nil)
			})
		})
	}
}

func TestB1_EmptyAnswerIsVisibleWhereAPersonWaits(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	start(t, options(t, s, says("")))
	if row := s.WaitDone(s.Post("a", "hello")); row.ErrorCode() != "empty_response" {
		t.Fatalf("outcome %q code %q", row.Outcome, row.ErrorCode())
	}
	quiet := map[string]any{"directives": map[string]any{"promptDirectives": []string{"x"}, "humanExpectsReply": false}}
	if row := s.WaitDone(s.Post("b", "fyi", quiet)); row.Outcome != "passed" {
		t.Fatalf("outcome %q", row.Outcome)
	}
}

// Tools of this machine stand behind the server's, run with the turn's id, and are taken away by a list that does not name them.
func TestL5_ToolsOfThisMachine(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	p := &puppet{}
	turns := make(chan string, 10)
	p.do = func(ctx context.Context, turn backend.Turn, _ func(backend.Event)) (backend.Result, error) {
		var names []string
		for _, tool := range turn.Toolbox.Tools() {
			names = append(names, tool.Name)
		}
		if names[len(names)-1] != "look_here" {
			return backend.Result{Text: "tools: " + strings.Join(names, " ")}, nil
		}
		s.Fail("/local-tool-calls", 1, 403, "forbidden")
		untold := turn.Toolbox.Call(ctx, "look_here", json.RawMessage(`{"at":"stars"}`))
		a, b := turn.Toolbox.Call(ctx, "look_here", json.RawMessage(`{"at":"stars"}`)), turn.Toolbox.Call(ctx, "look_here", json.RawMessage(`{}`))
		if !b.IsError {
			return backend.Result{}, errors.New("a missing argument was taken")
		}
		if !untold.IsError || len(turns) != 1 {
			return backend.Result{}, errors.New("text of others was read before the server knew")
		}
		return backend.Result{Text: a.Text}, nil
	}
	opt := options(t, s, p)
	look := backend.Tool{Name: "look_here", Description: "x", Schema: json.RawMessage(`{"type":"object","required":["at"]}`)}
	taken := backend.Tool{Name: "send_message"}
	opt.Local = []session.Local{
		{Tool: taken, Call: func(context.Context, string, json.RawMessage) backend.ToolResult { panic("the server's tool wins") }},
		{Tool: look, Others: true, Call: func(_ context.Context, turn string, args json.RawMessage) backend.ToolResult {
			turns <- turn
			return backend.ToolResult{Text: string(args)}
		}},
	}
	start(t, opt)
	row := s.WaitDone(s.Post("a", "look"))
	if row.Reply() != `{"at":"stars"}` {
		t.Fatalf("reply %q", row.Reply())
	}
	if turn := <-turns; turn == "" {
		t.Fatal("the tool does not know its turn")
	}
	if n := len(s.Calls("/api/mcp/call")); n != 0 {
		t.Fatalf("%d calls reached the server", n)
	}
	notes := s.Calls("/api/agents/me/local-tool-calls")
	if len(notes) != 1 {
		t.Fatalf("the server was told %d times", len(notes))
	}
	if c, _ := notes[0].Body["context"].(map[string]any); notes[0].Body["tool_name"] != "look_here" || c["source_message_id"] == nil {
		t.Fatalf("it was told %v", notes[0].Body)
	}
}

func TestB1_ToolsRunAndTheRoomHearsOnce(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	call := func(ctx context.Context, box backend.Toolbox, name, args string) backend.ToolResult {
		return box.Call(ctx, name, json.RawMessage(args))
	}
	p := &puppet{}
	p.do = func(ctx context.Context, turn backend.Turn, _ func(backend.Event)) (backend.Result, error) {
		box := turn.Toolbox
		switch turn.Input[0].Text {
		case "speak":
			call(ctx, box, "send_message", `{"conversation_id":"current","content":"by tool"}`)
			return backend.Result{Text: "by tool"}, nil
		case "elsewhere":
			call(ctx, box, "send_message", `{"conversation_id":"other","content":"psst"}`)
			call(ctx, box, "send_message", `{"conversation_id":"other","content":"psst"}`)
			return backend.Result{Text: "told them"}, nil
		case "errors":
			a, b := call(ctx, box, "nope", `{}`), call(ctx, box, "send_message", `{}`)
			if !a.IsError || !b.IsError {
				return backend.Result{}, errors.New("bad calls were taken")
			}
			return backend.Result{Text: "as expected"}, nil
		default:
			if r := call(ctx, box, "end_turn", `{"reason":"no_action_needed"}`); r.IsError || !box.Done() {
				return backend.Result{}, errors.New(r.Text)
			}
			return backend.Result{}, nil
		}
	}
	start(t, options(t, s, p))
	if row := s.WaitDone(s.Post("a", "speak")); row.Reply() != "by tool" {
		t.Fatalf("reply %q", row.Reply())
	}
	if row := s.WaitDone(s.Post("b", "elsewhere")); row.Reply() != "told them" {
		t.Fatalf("reply %q", row.Reply())
	}
	sent := s.Calls("/api/mcp/call") // nothing is sent past the check on the server
	if len(sent) != 2 || sent[0].Header.Get("Idempotency-Key") == "" || sent[0].Header.Get("Idempotency-Key") != sent[1].Header.Get("Idempotency-Key") {
		t.Fatalf("calls %+v", sent)
	}
	if row := s.WaitDone(s.Post("c", "errors")); row.Reply() != "as expected" {
		t.Fatalf("outcome %q %v", row.Outcome, row.Body)
	}
	if row := s.WaitDone(s.Post("d", "nothing")); row.Outcome != "passed" {
		t.Fatalf("outcome %q", row.Outcome)
	}
	c := s.Calls("/api/mcp/call")[2].Body["context"].(map[string]any)
	if c["conversation_id"] != "d" || c["source_message_id"] == nil {
		t.Fatalf("context %v", c)
	}
}

func drafts(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "outbox", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestP7_StaleDraftIsRevisedOnce(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	p := &puppet{}
	p.do = func(_ context.Context, turn backend.Turn, _ func(backend.Event)) (backend.Result, error) {
		last := turn.Input[len(turn.Input)-1].Text
		return backend.Result{Text: "about " + last}, nil
	}
	release := make(chan struct{})
	inner := p.do
	p.do = func(ctx context.Context, turn backend.Turn, emit func(backend.Event)) (backend.Result, error) {
		<-release
		return inner(ctx, turn, emit)
	}
	start(t, options(t, s, p))
	row := s.Post("room", "cats")
	s.Stale(row, "no, dogs")
	close(release)
	if got := s.WaitDone(row); got.Reply() != "about no, dogs" || got.Completions != 1 {
		t.Fatalf("reply %q", got.Reply())
	}
	if n := len(p.turns()); n != 2 {
		t.Fatalf("%d model runs", n)
	}
}

func TestP5_RefusedDraftIsShownAsFailure(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	s.Fail("/complete", 1, 422, "too_long")
	opt := options(t, s, says("x"))
	start(t, opt)
	if row := s.WaitDone(s.Post("room", "hello")); row.ErrorCode() != "model_error" {
		t.Fatalf("outcome %q", row.Outcome)
	}
}

// TestP5_NoCharacterCostsAnAnswer: U+0000, which no server can store, is left out.
func TestP5_NoCharacterCostsAnAnswer(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	start(t, options(t, s, says("It is\x00 four.")))
	if row := s.WaitDone(s.Post("room", "hello")); row.Outcome != "answered" || row.Reply() != "It is four." {
		t.Errorf("outcome %q reply %q", row.Outcome, row.Reply())
	}
	broken := fakeserver.New(t)
	start(t, options(t, broken, fails(backend.Errorf(backend.CodeKilled, "core\x00dump"))))
	row := broken.WaitDone(broken.Post("room", "hello"))
	if raw, err := json.Marshal(row.Body); err != nil || row.ErrorCode() != "killed" || strings.Contains(string(raw), `\u0000`) {
		t.Errorf("%s %v", raw, err)
	}
}

func TestB1_LogsCarryNoSecret(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	var log lockedBuffer
	opt := options(t, s, says("private answer"))
	opt.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r := start(t, opt)
	s.WaitDone(s.Post("room", "private question"))
	s.SetDown(true)
	s.SetDown(false)
	s.WaitDone(s.Post("room", "another question"))
	r.stop()
	_ = r.wait(t)
	for _, secret := range []string{s.Key, "token-", "private", "question"} {
		if strings.Contains(log.String(), secret) {
			t.Fatalf("the log contains %q:\n%s", secret, log.String())
		}
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
