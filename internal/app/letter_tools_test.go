package app_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/app/apptest"
	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakemodel"
	"github.com/agntchat/agntchat/internal/realtime/phxtest"
	"github.com/agntchat/agntchat/internal/wire"
)

// TestL5_AgentUsesLettersThroughItsCLI: an agent of the workspace, on the real Claude Code and Codex, is asked by a person to read its
// letters and to answer one; the letter's writer uses `agnt letter` and never meets the server's rooms. Without the owner's flag
// the model has no such tools.
func TestL5_AgentUsesLettersThroughItsCLI(t *testing.T) {
	t.Parallel()
	for _, cli := range durableCLIs(t) {
		t.Run(cli.name, func(t *testing.T) {
			t.Parallel()
			w := newDurableWorld(t, cli)
			tool := func(name, args string) fakemodel.Tool {
				if cli.name == "codex" {
					return fakemodel.Tool{Namespace: "mcp__agntchat", Name: name, Args: args}
				}
				return fakemodel.Tool{Name: "mcp__agntchat__" + name, Args: args}
			}
			room := phxtest.Dial(t, w.p.URL, phxtest.Options{Token: w.owner}).Join("conversation:"+w.room, map[string]any{})
			ask := func(question, answer string, calls ...fakemodel.Tool) {
				t.Helper()
				steps := []fakemodel.Step{{Text: answer}}
				for n := len(calls) - 1; n >= 0; n-- {
					steps = append([]fakemodel.Step{{Tools: calls[n : n+1]}}, steps...)
				}
				w.model.On(question, steps...)
				call(t, w.p.URL, w.owner, "POST", "/api/conversations/"+w.room+"/messages", map[string]any{"content": question}, 0, nil)
				w.answer(room, answer)
			}
			seen := func(text string) bool {
				for _, r := range append(w.model.Requests("/messages"), w.model.Requests("/responses")...) {
					if strings.Contains(r.Raw, text) {
						return true
					}
				}
				return false
			}
			ask("good morning", "Good morning.")
			if seen("letters_unread") {
				t.Fatal("the model has letter tools that nobody turned on")
			}
			w.bridge.Kill()
			w.flags = []string{"--letter-tools"}
			w.startBridge()
			if _, err := w.bridge.WaitOutput(t.Context(), "the agent has a letter address"); err != nil {
				t.Fatalf("%v\n%s", err, w.bridge.Output())
			}
			var a wire.LetterAddresses
			call(t, w.p.URL, w.owner, "GET", "/api/agents/"+w.agent+"/letter-address", nil, 200, &a)
			letters := func(args ...string) string {
				t.Helper()
				c := apptest.Start(t, "agnt letter", w.home, []string{"RETALK_HOME=" + filepath.Join(w.home, "person"), "RETALK_RELAY=" + a.LetterAddress.RelayURL},
					filepath.Join(apptest.Programs(t), "agnt"), append([]string{"letter"}, args...)...)
				if code, err := c.Wait(t.Context()); err != nil || code != 0 {
					t.Fatalf("agnt letter %q: %d %v\n%s", args, code, err, c.Output())
				}
				return c.Output()
			}
			letters("init", "-u", "ada", "-np")
			ada := strings.TrimSpace(letters("id", "-u", "ada"))
			letters("add", a.LetterAddress.Fingerprint, "--peer", "bot", "--verify", "-u", "ada")
			letters("send", "the harbour lamp is red", "--peer", "bot", "-u", "ada")
			letters("add", ada, "--peer", "ada", "--verify", "--dir", filepath.Join(w.home, "agnt", "agents", w.agent, "letters"))

			ask("read your letters", "Ada writes about a lamp.", tool("letters_unread", `{}`))
			if !seen("> the harbour lamp is red") || !seen("from: "+ada) {
				t.Fatalf("the letter did not reach the model\n%s", w.bridge.Output())
			}
			ask("answer her", "Done.", tool("letters_send", `{"to":"ada","text":"it is, since dusk"}`))
			if got := letters("receive", "--peer", "bot", "-u", "ada"); !strings.Contains(got, "it is, since dusk") {
				t.Fatalf("%s\n%s", got, w.bridge.Output())
			}
			if n := len(w.bridge.Output()); strings.Contains(w.bridge.Output(), "harbour lamp") {
				t.Fatalf("a letter is in the log of %d bytes", n)
			}
		})
	}
}
