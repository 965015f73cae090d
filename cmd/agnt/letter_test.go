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

// The follower and the sessions are known to the help and to every shell's completion, with their words and flags; their usage errors
// name what is missing.
func TestL3_FollowIsAmongTheCommands(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := environment{letter: cli.Env{Home: home, UserHome: home, Login: "me", User: "me"}}
	for says, args := range map[string][]string{
		"agnt letter follow":   {"--help"},
		"agnt letter session":  {"--help"},
		"[start|stop|status]":  {"follow", "--help"},
		"--interval SECONDS":   {"follow", "--help"},
		"start|end|list|gc":    {"session", "--help"},
		"session_id":           {"session", "--help"},
		"start stop status":    {"completion", "bash"},
		"start end list gc":    {"completion", "zsh"},
		"--no-inbox --no-lega": {"completion", "fish"},
	} {
		if code, out := agnt(t, env, "", append([]string{"letter"}, args...)...); code != 0 || !strings.Contains(out, says) {
			t.Errorf("%v: exit code %d, %q is missing in:\n%s", args, code, says, out)
		}
	}
	for says, args := range map[string][]string{
		"start, stop, status": {"follow", "restart"},
		"start, end, list":    {"session"},
		"hook's input":        {"session", "start"},
		"no session id":       {"session", "start", "--session", ".."},
		"not following":       {"follow", "stop", "--interval", "x"},
	} {
		code, out := agnt(t, env, "", append([]string{"letter"}, args...)...)
		if !strings.Contains(out, says) || code != 2 && says != "not following" {
			t.Errorf("%v: exit code %d, %q is missing in:\n%s", args, code, says, out)
		}
	}
}
