//go:build unix

package alarmcli_test

import (
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/bridgetest"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakemodel"
)

// claudeTool is how Claude Code's model knows a tool of the plugin.
const claudeTool = "mcp__plugin_agnt-letters_agnt_letters__"

// A real Claude Code finds the installed plugin valid, loads it by its settings, and runs its hooks and tools in turns of a session.
func TestL5_ClaudeCodeRunsThePlugin(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const theirs = "{\n  \"env\": {\n    \"MINE\": \"1\"\n  }\n}\n"
	l.write("claude/settings.json", theirs)
	l.letter("install", "claude", "-u", "alice")
	l.letter("wake", "on", "-u", "alice")
	market := filepath.Join(l.home, ".agnt", "letters", "claude")
	for _, folder := range []string{market, filepath.Join(market, "agnt-letters")} {
		if out := l.claude("plugin", "validate", folder); !strings.Contains(out, "Validation passed") || strings.Contains(out, "warning") {
			t.Fatal(out)
		}
	}
	// It waited before the session began: SessionStart hands it over. Another one comes while the model answers: Stop lets the turn go on, with the fixed text, and the
	// model fetches it with the tool, though the session's id was told to nobody.
	l.arrives("waited since yesterday")
	gate := make(chan struct{})
	l.model.On("how are things", fakemodel.Step{Text: "all fine", Gate: gate})
	l.model.On("Letters of verified contacts wait", fakemodel.Step{Tools: []fakemodel.Tool{{Name: claudeTool + "letters_unread", Args: "{}"}}}, fakemodel.Step{Text: "bob came."})
	done := make(chan string, 1)
	go func() {
		out, _ := l.run(bridgetest.CLI(t, "claude"), "-p", "how are things", "--output-format", "json", "--allowedTools", claudeTool+"letters_unread")
		done <- out
	}()
	l.model.WaitFor("how are things")
	l.arrives("came meanwhile")
	close(gate)
	if out := <-done; !strings.Contains(out, "bob came.") {
		t.Fatal(out)
	}
	first := l.asked("/v1/messages", "how are things")[0].Raw
	if quoted(first, "waited since yesterday") != 1 || strings.Contains(first, "came meanwhile") {
		t.Fatalf("the first request: %s", first)
	}
	woken := l.asked("/v1/messages", "Letters of verified contacts wait")
	if len(woken) < 2 || strings.Contains(woken[0].Raw, "came meanwhile") {
		t.Fatalf("%d requests after the wake, or the wake carries a letter", len(woken))
	}
	last := woken[len(woken)-1].Raw
	if quoted(last, "came meanwhile") != 1 || quoted(last, "waited since yesterday") != 1 {
		t.Fatalf("the last request: %s", last)
	}
	// A shell of the session needs no id.
	gate = make(chan struct{})
	l.model.On("look by hand", fakemodel.Step{Text: "I will", Gate: gate, Tools: []fakemodel.Tool{{Name: "Bash", Args: `{"command":"` + l.agnt + ` letter unread","description":"look"}`}}}, fakemodel.Step{Text: "seen it"})
	go func() {
		out, _ := l.run(bridgetest.CLI(t, "claude"), "-p", "look by hand", "--output-format", "json", "--allowedTools", "Bash("+l.agnt+" letter unread)")
		done <- out
	}()
	l.model.WaitFor("look by hand")
	l.arrives("for the shell")
	close(gate)
	if out := <-done; !strings.Contains(out, "seen it") {
		t.Fatal(out)
	}
	shell := l.asked("/v1/messages", "look by hand")
	if last := shell[len(shell)-1].Raw; quoted(last, "for the shell") != 1 || !strings.Contains(last, `"content":"Letters for this session`) {
		t.Fatalf("the shell's result: %s", last)
	}
	if list, err := l.reg.List(); err != nil || len(list) != 0 {
		t.Fatalf("the session ended and is registered: %v %v", list, err)
	}
	if out := l.claude("plugin", "list"); !strings.Contains(out, "agnt-letters@agntchat") || !strings.Contains(out, "enabled") {
		t.Fatal(out)
	}

	// Taken out, nothing of it is left, and Claude Code does not miss it.
	l.letter("uninstall", "claude")
	if text := l.read("claude/settings.json"); text != theirs {
		t.Fatalf("settings: %s", text)
	}
	if out := l.claude("plugin", "list"); strings.Contains(out, "agnt-letters") {
		t.Fatal(out)
	}
	if out := l.claude("plugin", "marketplace", "list"); strings.Contains(out, "agntchat") {
		t.Fatal(out)
	}
}

// A real Claude Code that is idle at its terminal begins a turn by itself when a letter of a verified contact comes. What wakes it is the fixed text; the letter comes by the hook of that turn.
func TestL5_ClaudeCodeIsWokenWhenIdle(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.letter("install", "claude", "-u", "alice")
	l.letter("wake", "on", "-u", "alice")
	work := filepath.Join(l.home, "work")
	raw, err := json.Marshal(map[string]any{
		"hasCompletedOnboarding": true, "theme": "dark", "customApiKeyResponses": map[string]any{"approved": []string{"sk-made-up-key"}, "rejected": []string{}},
		"projects": map[string]any{work: map[string]any{"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}},
	})
	if err != nil {
		t.Fatal(err)
	}
	l.write("claude/.claude.json", string(raw))
	l.env = append(l.env, "TERM=xterm-256color", "SHELL=/bin/sh")
	l.model.On("first question", fakemodel.Step{Text: "first answer"})
	l.model.On("Letters of verified contacts wait", fakemodel.Step{Text: "bob wrote"})
	screen := l.talk("script", "-qec", "stty rows 40 cols 120; exec "+bridgetest.CLI(t, "claude"), "/dev/null")
	go func() {
		for range screen.lines { // what a person would see
		}
	}()
	// A person's first question, typed until it is there: the screen takes a while to be.
	typed := time.NewTicker(3 * time.Second)
	defer typed.Stop()
	for tries := 0; len(l.asked("/v1/messages", "first question")) == 0; tries++ {
		if tries == 40 {
			t.Fatal("the screen takes no question")
		}
		if _, err := io.WriteString(screen.in, "first question\r"); err != nil {
			t.Fatal(err)
		}
		<-typed.C
	}
	l.model.WaitFor("first question")
	l.arrives("are you there?")
	l.model.WaitFor("are you there?")
	woken := l.asked("/v1/messages", "are you there?")[0]
	if !strings.Contains(woken.Raw, "Letters of verified contacts wait") || quoted(woken.Raw, "are you there?") != 1 {
		t.Fatalf("not woken as it should be: %s", woken.Raw)
	}
}

// A real Claude Code with the server of tools alone, as a host without hooks: its session is registered by the first call, and gets what no session has read.
func TestL5_ClaudeCodeWithToolsAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	file := filepath.Join(l.home, "mcp.json")
	l.letter("install", "mcp", "-u", "alice", "--file", file)
	l.arrives("waits for whoever comes")
	if _, err := l.user.Attach(t.Context(), l.reg, "another"); err != nil { // which has not read it
		t.Fatal(err)
	}
	const tool = "mcp__agnt_letters__letters_unread"
	l.model.On("any letters", fakemodel.Step{Tools: []fakemodel.Tool{{Name: tool, Args: "{}"}}}, fakemodel.Step{Text: "bob wrote."})
	if out := l.claude("-p", "any letters", "--mcp-config", file, "--strict-mcp-config", "--allowedTools", tool); !strings.Contains(out, "bob wrote.") {
		t.Fatal(out)
	}
	asked := l.asked("/v1/messages", "any letters")
	if last := asked[len(asked)-1].Raw; quoted(last, "waits for whoever comes") != 1 {
		t.Fatalf("the last request: %s", last)
	}
	if ids, err := l.reg.Sessions(l.user); err != nil || len(ids) != 1 {
		t.Fatalf("sessions %v %v", ids, err)
	}
}
