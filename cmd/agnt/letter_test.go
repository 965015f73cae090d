package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/letterbox/cli"
)

// agnt letter has exit codes and an environment of its own, and makes an identity without any relay.
func TestL2_LetterCommand(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := environment{letter: cli.Env{Home: home, UserHome: home, Login: "me", User: "me"}}
	if code, out := agnt(t, env, "", "letter", "--help"); code != exitOK || !strings.Contains(out, "agnt letter receive") {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	if code, out := agnt(t, env, "", "letter", "id"); code != 2 || !strings.Contains(out, "[retalk] no identity at "+filepath.Join(home, "me")) {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	if code, out := agnt(t, env, "", "letter", "init", "-np", "--no-register", "--json"); code != 0 || !strings.Contains(out, `"name": "me"`) {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	if code, out := agnt(t, env, "", "letter", "id"); code != 0 || len(strings.TrimSpace(out)) != 32 {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
}
