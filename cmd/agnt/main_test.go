package main

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakeserver"
)

func agnt(t *testing.T, env environment, in string, args ...string) (code int, out string) {
	t.Helper()
	var b bytes.Buffer
	code = run(t.Context(), args, env, strings.NewReader(in), &b, &b)
	return code, b.String()
}

func TestExitCodesAndHelp(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	key := environment{home: t.TempDir(), agentKey: s.Key}
	wrong := environment{home: t.TempDir(), agentKey: "ak_wrong"}
	cases := []struct {
		name string
		env  environment
		args []string
		code int
		says string
	}{
		{"nothing", key, nil, exitUsage, "agnt bridge"},
		{"version", key, []string{"version"}, exitOK, "agnt dev"},
		{"help", key, []string{"help"}, exitOK, "Exit codes"},
		{"bridge help", key, []string{"bridge", "--help"}, exitOK, "--dangerously-skip-permissions"},
		{"connect help", key, []string{"connect", "--help"}, exitOK, "--api-key-stdin"},
		{"unknown", key, []string{"dance"}, exitUsage, "unknown command"},
		{"bad flag", key, []string{"bridge", "--nope"}, exitUsage, "not defined: --nope"},
		{"unknown backend", key, []string{"bridge", "--url", s.URL, "--agent-id", s.AgentID, "--backend", "x"}, exitUsage, "no backend \"x\""},
		{"connect unknown backend", key, []string{"connect", "--backend", "x"}, exitUsage, "no backend \"x\""},
		{"connect nothing entered", environment{home: t.TempDir()}, []string{"connect"}, exitUsage, "invite code: \nagnt: wrong usage: nothing was entered"},
		{"stray argument", key, []string{"bridge", "ak_key"}, exitUsage, "never given on the command line"},
		{"no agents", environment{home: t.TempDir()}, []string{"bridge"}, exitFailed, "agnt connect"},
		{"no key", environment{home: t.TempDir()}, []string{"bridge", "--url", s.URL, "--agent-id", s.AgentID}, exitUsage, "AGENT_API_KEY"},
		{"bad address", key, []string{"bridge", "--url", "ftp://x", "--agent-id", "a"}, exitFailed, "no server address"},
		{"check", key, []string{"bridge", "--check", "--url", s.URL, "--agent-id", s.AgentID, "--backend", "scripted"}, exitOK, "ok    answer"},
		{"check wrong key", wrong, []string{"bridge", "--check", "--url", s.URL, "--agent-id", s.AgentID, "--backend", "scripted"}, exitAuth, "AUTH_FAILED"},
		{"check no server", key, []string{"bridge", "--check", "--url", "http://127.0.0.1:1", "--agent-id", "a"}, exitServer, "cannot be reached"},
		{"check no model", key, []string{"bridge", "--check", "--url", s.URL, "--agent-id", s.AgentID, "--backend", "anthropic"}, exitBackend, "FAIL  model"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			code, out := agnt(t, c.env, "", c.args...)
			if code != c.code || !strings.Contains(out, c.says) {
				t.Fatalf("exit code %d, want %d; output:\n%s", code, c.code, out)
			}
			if strings.Contains(out, "FAIL") && strings.Contains(out, "agnt: ") {
				t.Fatalf("said twice:\n%s", out)
			}
			if strings.Contains(out, s.Key) {
				t.Fatalf("the key was printed:\n%s", out)
			}
		})
	}
}

func TestConnectThenBridgeFindsTheAgent(t *testing.T) {
	t.Parallel()
	s := fakeserver.New(t)
	env := environment{home: t.TempDir()}
	code, out := agnt(t, env, s.Key+"\n", "connect", "--url", s.URL, "--agent-id", s.AgentID, "--backend", "scripted", "--api-key-stdin")
	if code != exitOK || !strings.Contains(out, "Connected: Nova") {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	if code, out = agnt(t, env, "", "bridge", "--check"); code != exitOK {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	// The same by answering questions, with a pasted connect string.
	env.home = t.TempDir()
	pasted := strings.Replace(s.URL, "http://", "agnt://"+s.AgentID+":"+s.Key+"@", 1) + "\n"
	if code, out = agnt(t, env, pasted, "connect", "--backend", "scripted"); code != exitOK {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	// And with an invite.
	env.home = t.TempDir()
	if code, out = agnt(t, env, "", "connect", "--url", s.URL, "--backend", "scripted", "inv_good"); code != exitOK {
		t.Fatalf("exit code %d:\n%s", code, out)
	}
	if entries, err := os.ReadDir(env.home); err != nil || len(entries) != 1 {
		t.Fatalf("%v %v", entries, err)
	}
}
