package claudecode_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/backend"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakemodel"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/toolbox"
	"github.com/agntchat/agntchat/internal/bridge/claudecode"
	"github.com/agntchat/agntchat/internal/bridge/workdir"
)

// bench is a backend with the real CLI and a fake provider.
type bench struct {
	model *fakemodel.Server
	dir   *workdir.Dir
	home  string
	opt   claudecode.Options
}

func setup(t *testing.T) *bench {
	t.Helper()
	b := &bench{model: fakemodel.New(t), dir: bridgetest.Dir(t), home: t.TempDir()}
	b.opt = claudecode.Options{
		Path: bridgetest.CLI(t, "claude"), Dir: b.dir, Log: slog.New(slog.DiscardHandler),
		Env: []string{
			"PATH=" + os.Getenv("PATH"), "HOME=" + b.home, "CLAUDE_CONFIG_DIR=" + filepath.Join(b.home, "claude"),
			"ANTHROPIC_BASE_URL=" + b.model.URL, "ANTHROPIC_API_KEY=sk-made-up-key", "AGENT_API_KEY=ak_never_passed_on",
		},
		Silence: 2 * time.Minute,
	}
	return b
}

func (b *bench) open(t *testing.T) *claudecode.Backend {
	t.Helper()
	c := claudecode.New(b.opt)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func TestB2_ClaudeAnswersStreamsAndRemembers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.On("what is up", fakemodel.Step{Text: "The sky is up."})
	b.model.On("and down", fakemodel.Step{Text: "The ground."})
	c := b.open(t)
	rec := &bridgetest.Record{}
	res, err := c.Run(t.Context(), bridgetest.Turn("what is up"), rec.Emit)
	if err != nil || res.Text != "The sky is up." || rec.Text() != res.Text || res.Usage.Output == 0 || res.Model == "" {
		t.Fatalf("result %+v streamed %q error %v", res, rec.Text(), err)
	}
	raw := b.model.Requests("/v1/messages")
	first := raw[len(raw)-1].Raw
	for _, part := range []string{"You are Nova.", "earlier question", "earlier answer", "It is late."} {
		if !strings.Contains(first, part) {
			t.Fatalf("the request lacks %q", part)
		}
	}
	second := bridgetest.Turn("and down")
	second.History = append(second.History, bridgetest.Turn("what is up").Input[0], backend.Message{ID: "r1", Assistant: true, Text: res.Text})
	second.Input[0].ID = "m2"
	res, err = c.Run(t.Context(), second, rec.Emit)
	if err != nil || res.Text != "The ground." {
		t.Fatalf("result %+v error %v", res, err)
	}
	raw = b.model.Requests("/v1/messages")
	if n := strings.Count(raw[len(raw)-1].Raw, "earlier question"); n != 1 {
		t.Fatalf("the history was sent %d times", n)
	}
	for _, r := range raw {
		if strings.Contains(r.Raw, "ak_never_passed_on") {
			t.Fatal("the agent's key reached the model")
		}
	}
}

func TestB2_ClaudeUsesPlatformToolsAndIsDeniedOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	target := filepath.Join(b.home, "written")
	b.model.On("use tools",
		fakemodel.Step{Text: "Looking.", Tools: []fakemodel.Tool{{Name: "mcp__agntchat__look", Args: `{"at":"stars"}`}}},
		fakemodel.Step{Tools: []fakemodel.Tool{{Name: "Bash", Args: `{"command":"touch ` + target + `","description":"t"}`}}},
		fakemodel.Step{Text: "Done without the shell."})
	c := b.open(t)
	box, rec := &toolbox.Box{}, &bridgetest.Record{}
	turn := bridgetest.Turn("use tools")
	turn.Toolbox = box
	res, err := c.Run(t.Context(), turn, rec.Emit)
	if err != nil || res.Text != "Done without the shell." || rec.Text() != res.Text {
		t.Fatalf("result %+v streamed %q error %v", res, rec.Text(), err)
	}
	if got := box.Calls(); len(got) != 1 || !strings.Contains(got[0], "stars") {
		t.Fatalf("calls %v", got)
	}
	if _, err := os.Stat(target); err == nil {
		t.Fatal("the shell ran without permission")
	}
	raw := b.model.Requests("/v1/messages")
	if !strings.Contains(raw[len(raw)-1].Raw, "not allowed for this agent") {
		t.Fatal("the model was not told why")
	}
}

func TestB2_ClaudeStopsWhenCancelled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.On("slowly", fakemodel.Step{Text: "one two three", Gate: make(chan struct{})})
	b.model.On("next", fakemodel.Step{Text: "Still here."})
	c := b.open(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.Run(ctx, bridgetest.Turn("slowly"), func(e backend.Event) {
		if e.Kind == backend.Text {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	b.model.WaitGone()
	if res, err := c.Run(t.Context(), bridgetest.Turn("next"), func(backend.Event) {}); err != nil || res.Text != "Still here." {
		t.Fatalf("result %+v error %v", res, err)
	}
}

// TestB2_ClaudeThatHangsIsEnded: a run that says nothing any more does not keep its room for
// ever. It is told as a time limit, its processes are gone, and the next question is
// answered.
func TestB2_ClaudeThatHangsIsEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.On("hang", fakemodel.Step{Text: "one two three", Gate: make(chan struct{})})
	b.model.On("next", fakemodel.Step{Text: "Here."})
	patient := b.opt
	b.opt.Silence = 5 * time.Second
	rec := &bridgetest.Record{}
	_, err := b.open(t).Run(t.Context(), bridgetest.Turn("hang"), rec.Emit)
	if bridgetest.Code(err) != backend.CodeTimeout {
		t.Fatalf("error %v", err)
	}
	if rec.Text() != "" { // on a very busy machine the CLI may not have come that far
		b.model.WaitGone()
	}
	b.opt = patient
	if res, err := b.open(t).Run(t.Context(), bridgetest.Turn("next"), func(backend.Event) {}); err != nil || res.Text != "Here." {
		t.Fatalf("result %+v error %v", res, err)
	}
}

func TestB2_ClaudeCrashResumesTheSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.On("remember", fakemodel.Step{Text: "Noted: blue."})
	b.model.On("interrupted", fakemodel.Step{Text: "Blue."})
	b.model.On("which colour", fakemodel.Step{Text: "half of", Gate: make(chan struct{})})
	c := b.open(t)
	if _, err := c.Run(t.Context(), bridgetest.Turn("remember blue"), func(backend.Event) {}); err != nil {
		t.Fatal(err)
	}
	turn := bridgetest.Turn("which colour")
	turn.Input[0].ID = "m2"
	rec := &bridgetest.Record{}
	killed := false
	res, err := c.Run(t.Context(), turn, func(e backend.Event) {
		rec.Emit(e)
		if e.Kind == backend.Text && !killed {
			killed = true
			c.KillForTest(turn.ConversationID)
		}
	})
	if err != nil || res.Text != "Blue." || rec.Text() != "Blue." {
		t.Fatalf("result %+v streamed %q error %v", res, rec.Text(), err)
	}
	raw := b.model.Requests("/v1/messages")
	last := raw[len(raw)-1].Raw
	if !strings.Contains(last, "remember blue") || !strings.Contains(last, "which colour") {
		t.Fatal("the resumed session lost its history")
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	// Another bridge process finds the session on disk.
	b.model.On("after restart", fakemodel.Step{Text: "Still blue."})
	again := bridgetest.Turn("after restart")
	again.Input[0].ID = "m3"
	again.History = []backend.Message{{ID: "m2", Text: "which colour"}}
	if res, err := b.open(t).Run(t.Context(), again, func(backend.Event) {}); err != nil || res.Text != "Still blue." {
		t.Fatalf("result %+v error %v", res, err)
	}
	raw = b.model.Requests("/v1/messages")
	if !strings.Contains(raw[len(raw)-1].Raw, "remember blue") {
		t.Fatal("the session was not resumed from disk")
	}
}

func TestB2_ClaudeFailuresHaveTheirOwnState(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		step fakemodel.Step
		code string
	}{
		"401":      {fakemodel.Step{Status: 401}, backend.CodeAuth},
		"429":      {fakemodel.Step{Status: 429}, backend.CodeRate},
		"overload": {fakemodel.Step{Status: 529}, backend.CodeRate},
	}
	for name, f := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			b.opt.RetryLimit = time.Millisecond
			b.model.On("fault", f.step)
			_, err := b.open(t).Run(t.Context(), bridgetest.Turn("fault"), func(backend.Event) {})
			if bridgetest.Code(err) != f.code {
				t.Fatalf("error %v, want %s", err, f.code)
			}
		})
	}
}

func TestB2_ClaudeEmptyAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.On("nothing", fakemodel.Step{Empty: true})
	res, err := b.open(t).Run(t.Context(), bridgetest.Turn("nothing"), func(backend.Event) {})
	if res.Text != "" || (err != nil && bridgetest.Code(err) != backend.CodeModel) {
		t.Fatalf("result %+v error %v", res, err)
	}
}

func TestB2_ClaudeNotSignedIn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.opt.Env = b.opt.Env[:3]
	if err := b.open(t).Check(t.Context()); bridgetest.Code(err) != backend.CodeAuth {
		t.Fatalf("error %v", err)
	}
}

// The CLI's own files are gone: the conversation goes on from the room's
// history in a new session.
func TestB2_ClaudeLostSessionStartsAnew(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.model.On("number two", fakemodel.Step{Text: "Second."})
	b.model.On("number one", fakemodel.Step{Text: "First."})
	c := b.open(t)
	if _, err := c.Run(t.Context(), bridgetest.Turn("number one"), func(backend.Event) {}); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(b.home, "other")
	if err := os.MkdirAll(other, 0o700); err != nil {
		t.Fatal(err)
	}
	for i, kv := range b.opt.Env {
		if strings.HasPrefix(kv, "CLAUDE_CONFIG_DIR=") {
			b.opt.Env[i] = "CLAUDE_CONFIG_DIR=" + other
		}
	}
	turn := bridgetest.Turn("number two")
	turn.Input[0].ID = "m2"
	turn.History = append(turn.History, bridgetest.Turn("number one").Input[0])
	turn.Toolbox = &toolbox.Box{}
	res, err := b.open(t).Run(t.Context(), turn, func(backend.Event) {})
	if err != nil || res.Text != "Second." {
		t.Fatalf("result %+v error %v", res, err)
	}
	raw := b.model.Requests("/v1/messages")
	if !strings.Contains(raw[len(raw)-1].Raw, "earlier question") {
		t.Fatal("the history was not sent again")
	}
}

func TestB2_ClaudeKeepsFewIdleProcesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.opt.MaxIdle = 1
	c := b.open(t)
	for _, room := range []string{"room-a", "room-b"} {
		turn := bridgetest.Turn("hello " + room)
		turn.ConversationID = room
		if res, err := c.Run(t.Context(), turn, func(backend.Event) {}); err != nil || !strings.Contains(res.Text, room) {
			t.Fatalf("result %+v error %v", res, err)
		}
	}
	if n := c.LiveForTest(); n != 1 {
		t.Fatalf("%d processes", n)
	}
}

// TestT3_ClaudeHearsWhatIsSaidMeanwhile: what people say while a run uses tools becomes
// part of the run, once; between runs nobody listens.
func TestT3_ClaudeHearsWhatIsSaidMeanwhile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	said, gate := make(chan struct{}), make(chan struct{})
	b.model.On("count to three",
		fakemodel.Step{Text: "I look first.", Gate: gate, Tools: []fakemodel.Tool{{Name: "mcp__agntchat__look", Args: `{"at":"stars"}`}}},
		fakemodel.Step{Text: "One, two, three."})
	b.model.On("make it four instead", fakemodel.Step{Text: "One, two, four."}) // when it is taken up behind the answer
	c := b.open(t)
	turn := bridgetest.Turn("count to three")
	turn.Toolbox = &toolbox.Box{}
	if c.Tell(t.Context(), turn.ConversationID, "too early") {
		t.Error("heard before it runs")
	}
	var once sync.Once
	go func() {
		<-said
		heard := make(chan bool, 1)
		go func() { heard <- c.Tell(t.Context(), turn.ConversationID, "make it four instead") }()
		close(gate)
		if !<-heard {
			t.Error("it does not hear")
		}
	}()
	res, err := c.Run(t.Context(), turn, func(e backend.Event) {
		if e.Kind == backend.Text {
			once.Do(func() { close(said) })
		}
	})
	if err != nil || (res.Text != "One, two, three." && res.Text != "One, two, three.\n\nOne, two, four.") {
		t.Fatalf("result %+v error %v", res, err)
	}
	raw := b.model.Requests("/v1/messages")
	if n := strings.Count(raw[len(raw)-1].Raw, "make it four instead"); n != 1 {
		t.Errorf("the model read it %d times", n)
	}
	if c.Tell(t.Context(), turn.ConversationID, "too late") {
		t.Error("heard after its end")
	}
	b.model.On("and now", fakemodel.Step{Text: "Five."})
	if res, err := c.Run(t.Context(), bridgetest.Turn("and now"), func(backend.Event) {}); err != nil || res.Text != "Five." {
		t.Fatalf("the next turn: %+v error %v", res, err)
	}
}
