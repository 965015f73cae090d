package alarmcli_test

import (
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/letterbox/alarm"
)

// A model writes to contacts whose keys are verified, as only such wake a session; to others, alone and in groups, when its user says so.
func TestL5_ToolsWriteToVerifiedContacts(t *testing.T) {
	t.Parallel()
	p := newPost(t)
	bob := strings.TrimSpace(p.bob.letterOut("id"))
	p.letter("add", bob, "--peer", "bob", "--override") // which forgets its keys
	p.letter("group", "create", "team", "bob")
	send := func(to string, group bool) (text string, isError bool) {
		t.Helper()
		c := p.talk(p.agnt, "letter", "mcp")
		c.call(1, "initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "host", "version": "1"}})
		text, isError = c.tool(2, "letters_send", map[string]any{"to": to, "text": "to " + to, "group": group})
		_ = c.in.Close()
		for range c.lines {
		}
		return text, isError
	}
	for to, group := range map[string]bool{"bob": false, bob: false, "team": true} {
		if text, bad := send(to, group); !bad || !strings.Contains(text, "nothing was sent") || !strings.Contains(text, "agnt letter verify "+bob) || !strings.Contains(text, "send_unverified") {
			t.Errorf("%s: %s", to, text)
		}
	}
	if got := p.bob.letterOut("receive", "--peer", "alice"); strings.Contains(got, "to ") {
		t.Errorf("Bob got %s", got)
	}

	s := alarm.Defaults()
	s.SendUnverified = true
	if err := alarm.SaveSettings(p.user.Dir(), s); err != nil {
		t.Fatal(err)
	}
	if text, bad := send("bob", false); bad || !strings.HasPrefix(text, "Sent.") {
		t.Errorf("where the user lets it: %s", text)
	}
	s.SendUnverified = false
	if err := alarm.SaveSettings(p.user.Dir(), s); err != nil {
		t.Fatal(err)
	}
	p.letter("verify", "bob")
	for to, group := range map[string]bool{"bob": false, "team": true} {
		if text, bad := send(to, group); bad || !strings.HasPrefix(text, "Sent") {
			t.Errorf("%s, verified: %s", to, text)
		}
	}
}
