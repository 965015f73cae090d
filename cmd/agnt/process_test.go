//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/agntchat/agntchat/internal/bridge/bridgetest/fakeserver"
)

// The test binary is the program itself when it is asked to.
func TestMain(m *testing.M) {
	if os.Getenv("AGNT_TEST_RUN_MAIN") == "1" {
		main()
		return
	}
	os.Exit(m.Run())
}

// process starts a real bridge process for the fake server's agent.
func process(t *testing.T, s *fakeserver.Server, home string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "bridge", "--url", s.URL, "--agent-id", s.AgentID, "--backend", "scripted", "--drain", "20s")
	cmd.Env = []string{"AGNT_TEST_RUN_MAIN=1", "AGENT_API_KEY=" + s.Key, "AGNT_HOME=" + home, "HOME=" + home, "PATH=" + os.Getenv("PATH")}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func kill(t *testing.T, cmd *exec.Cmd, sig syscall.Signal) {
	t.Helper()
	if err := cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(60 * time.Second):
		t.Fatal("the bridge did not end")
	}
}

func outboxFiles(s *fakeserver.Server, home string) int {
	names, _ := filepath.Glob(filepath.Join(home, "agents", s.AgentID, "outbox", "*.json"))
	return len(names)
}

// Killed after the turn was finished and before the server had it: the next
// process delivers the very same answer, without another attempt.
func TestP5_KilledBetweenAnswerAndDelivery(t *testing.T) {
	t.Parallel()
	s, home := fakeserver.New(t), t.TempDir()
	first := process(t, s, home)
	s.Wait("online", s.Online)
	s.Fail("/complete", 1_000_000, 503, "unavailable")
	row := s.Post("room", "table")
	s.Wait("the draft on disk", func() bool { s.Poke(); return outboxFiles(s, home) == 1 })
	kill(t, first, syscall.SIGKILL)
	s.ClearFaults()
	process(t, s, home)
	got := s.WaitDone(row)
	if got.Outcome != "answered" || got.Completions != 1 || got.Attempts != 1 {
		t.Fatalf("outcome %q, completions %d, attempts %d", got.Outcome, got.Completions, got.Attempts)
	}
	s.Wait("an empty outbox", func() bool { s.Poke(); return outboxFiles(s, home) == 0 })
}

// Killed while the model works: the message is offered again and answered once.
func TestP5_KilledWhileWorking(t *testing.T) {
	t.Parallel()
	s, home := fakeserver.New(t), t.TempDir()
	first := process(t, s, home)
	s.Wait("online", s.Online)
	row := s.Post("room", "code")
	s.Wait("the turn to be seen", func() bool { return len(s.Streams("room")) > 0 })
	kill(t, first, syscall.SIGKILL)
	process(t, s, home)
	got := s.WaitDone(row)
	if got.Outcome != "answered" || got.Completions != 1 || got.Attempts != 2 {
		t.Fatalf("outcome %q, completions %d, attempts %d", got.Outcome, got.Completions, got.Attempts)
	}
}

// SIGTERM lets the running turn finish before the process ends.
func TestB1_TermDrains(t *testing.T) {
	t.Parallel()
	s, home := fakeserver.New(t), t.TempDir()
	cmd := process(t, s, home)
	s.Wait("online", s.Online)
	row := s.Post("room", "list")
	s.Wait("the turn to be seen", func() bool { return len(s.Streams("room")) > 0 })
	kill(t, cmd, syscall.SIGTERM)
	if got := s.Get(row); got.Outcome != "answered" {
		t.Fatalf("state %q outcome %q", got.State, got.Outcome)
	}
}
