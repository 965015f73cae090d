//go:build unix

package alarmcli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/bridge/bridgetest"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakemodel"
	"github.com/agntchat/agntchat/internal/letterbox/alarm"
)

// codexConfig is what a person has in their configuration already.
func codexConfig(url string) string {
	return `# mine
model = "fake-model" # and this
model_provider = "fake"
approval_policy = "never"
sandbox_mode = "workspace-write"

[model_providers.fake]
name = "Fake"
base_url = "` + url + `/v1"
env_key = "FAKE_API_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1

[[hooks.Stop]]
[[hooks.Stop.hooks]]
type = "command"
command = "true"

[mcp_servers.other]
command = "true"
enabled = false`
}

type codexHook struct {
	Key         string `json:"key"`
	EventName   string `json:"eventName"`
	HandlerType string `json:"handlerType"`
	Command     string `json:"command"`
	CurrentHash string `json:"currentHash"`
	TrustStatus string `json:"trustStatus"`
}

// hooks is what Codex says of its hooks.
func (c *conversation) hooks(id int, cwd string) (list []codexHook) {
	c.t.Helper()
	raw, err := json.Marshal(c.call(id, "hooks/list", map[string]any{"cwds": []string{cwd}}))
	if err != nil {
		c.t.Fatal(err)
	}
	var r struct {
		Data []struct {
			Hooks    []codexHook `json:"hooks"`
			Warnings []any       `json:"warnings"`
			Errors   []any       `json:"errors"`
		} `json:"data"`
	}
	if err := json.Unmarshal(raw, &r); err != nil || len(r.Data) != 1 || len(r.Data[0].Warnings)+len(r.Data[0].Errors) > 0 {
		c.t.Fatalf("%v %s", err, raw)
	}
	return r.Data[0].Hooks
}

// trust does what a person does in /hooks, by the same call.
func (l *lab) trust() []codexHook {
	l.t.Helper()
	c := l.talk(bridgetest.CLI(l.t, "codex"), "app-server")
	c.call(1, "initialize", map[string]any{"clientInfo": map[string]any{"name": "test", "version": "1"}, "capabilities": map[string]any{"experimentalApi": true}})
	c.send(map[string]any{"method": "initialized"})
	list := c.hooks(2, filepath.Join(l.home, "work"))
	states := map[string]any{}
	for _, h := range list {
		states[h.Key] = map[string]any{"trusted_hash": h.CurrentHash, "enabled": true}
	}
	c.call(3, "config/batchWrite", map[string]any{"edits": []any{map[string]any{"keyPath": "hooks.state", "value": states, "mergeStrategy": "upsert"}}, "reloadUserConfig": true})
	for _, h := range c.hooks(4, filepath.Join(l.home, "work")) {
		if h.TrustStatus != "trusted" {
			l.t.Fatalf("not trusted: %+v", h)
		}
	}
	return list
}

// A real Codex lists the installed hooks as valid and, once they are trusted, runs them in turns: a letter that waited comes at the start, one that comes during the turn keeps it
// going, and the model fetches that with the tool. Then all of it is taken out again, though Codex has written its trust between our tables.
func TestL5_CodexRunsTheHooksAndTools(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	before := codexConfig(l.model.URL)
	l.write("codex/config.toml", before)
	if err := os.Chmod(filepath.Join(l.home, "codex", "config.toml"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := l.letter("install", "codex", "-u", "alice")
	for _, want := range []string{"+ [[hooks.SessionStart]]", "+ [mcp_servers.agnt_letters]", "/hooks"} {
		if !strings.Contains(out, want) {
			t.Fatalf("%q is not shown:\n%s", want, out)
		}
	}
	installed := l.read("codex/config.toml")
	if !strings.HasPrefix(installed, before) {
		t.Fatalf("changed more:\n%s", installed)
	}
	if out := l.letter("install", "codex", "-u", "alice"); l.read("codex/config.toml") != installed || !strings.Contains(out, "All is as it should be.") {
		t.Fatalf("a second time: %s", out)
	}
	if st, err := os.Stat(filepath.Join(l.home, "codex", "config.toml")); err != nil || st.Mode().Perm() != 0o644 {
		t.Fatalf("%v %v", st.Mode(), err)
	}
	var events []string
	for _, h := range l.trust() {
		if strings.Contains(h.Command, "agnt hook codex ") {
			events = append(events, h.EventName)
			if h.HandlerType != "command" || h.TrustStatus != "untrusted" {
				t.Errorf("%+v", h)
			}
		}
	}
	slices.Sort(events)
	if !slices.Equal(events, []string{"postToolUse", "sessionStart", "stop", "userPromptSubmit"}) {
		t.Fatalf("hooks %v", events)
	}

	l.letter("wake", "on", "-u", "alice")
	l.arrives("waited since yesterday")
	if _, err := l.user.Attach(t.Context(), l.reg, "another-session"); err != nil { // of the same person
		t.Fatal(err)
	}
	l.arrives("to both")
	gate := make(chan struct{})
	l.model.On("how are things", fakemodel.Step{Text: "all fine", Gate: gate})
	l.model.On("Letters of verified contacts wait", fakemodel.Step{Tools: []fakemodel.Tool{{Namespace: "mcp__agnt_letters", Name: "letters_unread", Args: "{}"}}}, fakemodel.Step{Text: "bob came."})
	done := make(chan string, 1)
	go func() {
		out, _ := l.run(bridgetest.CLI(t, "codex"), "exec", "--json", "--skip-git-repo-check", "how are things")
		done <- out
	}()
	l.model.WaitFor("how are things")
	l.arrives("came meanwhile")
	close(gate)
	turn := <-done
	if !strings.Contains(turn, "bob came.") {
		t.Fatal(turn)
	}
	first := l.asked("/v1/responses", "how are things")[0].Raw
	if quoted(first, "waited since yesterday") != 1 || strings.Contains(first, "came meanwhile") {
		t.Fatalf("the first request: %s", first)
	}
	woken := l.asked("/v1/responses", "Letters of verified contacts wait")
	if len(woken) != 2 || strings.Contains(woken[0].Raw, "came meanwhile") {
		t.Fatalf("%d requests after the wake, or the wake carries a letter", len(woken))
	}
	if last := woken[1].Raw; quoted(last, "came meanwhile")+strings.Count(last, `> came meanwhile\\n`) != 1 {
		t.Fatalf("the last request: %s", last)
	}
	// The session went by the id that Codex gave to its hooks, and the tool knew it by what Codex says beside a call.
	var thread string
	for line := range strings.Lines(turn) {
		var e struct {
			Thread string `json:"thread_id"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Thread != "" {
			thread = e.Thread
		}
	}
	if u, ok := l.reg.Lookup(thread); !ok || u != l.user {
		t.Fatalf("thread %q is not registered", thread)
	}
	ids, err := l.reg.Sessions(l.user)
	if err != nil || len(ids) != 2 {
		t.Fatalf("sessions %v %v", ids, err)
	}
	// A shell of the session needs no id either.
	gate = make(chan struct{})
	l.model.On("look by hand", fakemodel.Step{Text: "I will", Gate: gate, Tools: []fakemodel.Tool{{Name: "exec_command", Args: `{"cmd":"` + l.agnt + ` letter unread"}`}}}, fakemodel.Step{Text: "seen"})
	go func() {
		out, _ := l.run(bridgetest.CLI(t, "codex"), "exec", "resume", thread, "--json", "--skip-git-repo-check", "look by hand")
		done <- out
	}()
	l.model.WaitFor("look by hand")
	l.arrives("for the shell")
	close(gate)
	if out := <-done; !strings.Contains(out, "seen") {
		t.Fatal(out)
	}
	if raw := l.asked("/v1/responses", "look by hand"); quoted(raw[len(raw)-1].Raw, "for the shell") != 1 {
		t.Fatalf("not shown once: %s", raw[len(raw)-1].Raw)
	}

	l.letter("uninstall", "codex")
	after := l.read("codex/config.toml")
	if strings.Contains(after, "agnt") && strings.Contains(after, "hook codex") || strings.Contains(after, "mcp_servers.agnt_letters") || !strings.HasPrefix(after, before) || !strings.Contains(after, "trusted_hash") {
		t.Fatalf("after removal:\n%s", after)
	}
	if list := l.talk(bridgetest.CLI(t, "codex"), "app-server"); list != nil {
		list.call(1, "initialize", map[string]any{"clientInfo": map[string]any{"name": "test", "version": "1"}, "capabilities": map[string]any{"experimentalApi": true}})
		list.send(map[string]any{"method": "initialized"})
		if hooks := list.hooks(2, filepath.Join(l.home, "work")); len(hooks) != 1 || hooks[0].Command != "true" || hooks[0].TrustStatus != "trusted" {
			t.Fatalf("%+v", hooks)
		}
	}
	_ = alarm.WakeText
}
