package proc_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agntchat/agntchat/internal/bridge/proc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func sh(t *testing.T, script string) *proc.Process {
	t.Helper()
	path, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	p, err := proc.Start(proc.Spec{Path: path, Args: []string{"-c", script}, Env: []string{"PATH=/usr/bin:/bin"}, Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestLinesInAndOut(t *testing.T) {
	t.Parallel()
	p := sh(t, `while read -r l; do echo "got $l"; done; echo end`)
	if err := p.Send(map[string]int{"n": 1}); err != nil {
		t.Fatal(err)
	}
	if got := string(<-p.Lines()); got != `got {"n":1}` {
		t.Fatalf("line %q", got)
	}
	p.CloseInput()
	if got := string(<-p.Lines()); got != "end" {
		t.Fatalf("line %q", got)
	}
	if _, ok := <-p.Lines(); ok || p.Killed() {
		t.Fatal("the child did not end by itself")
	}
}

// A grandchild that ignores everything dies with its group.
func TestKillEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	p := sh(t, `(trap "" TERM INT; sleep 300) & echo $!; wait`)
	pid := string(<-p.Lines())
	p.Stop(0)
	if !p.Killed() {
		t.Fatal("not killed")
	}
	deadline := time.Now().Add(10 * time.Second)
	for exec.Command("kill", "-0", pid).Run() == nil {
		if time.Now().After(deadline) {
			t.Fatalf("process %s lives on", pid)
		}
	}
}

func TestStderrIsCapped(t *testing.T) {
	t.Parallel()
	p := sh(t, `i=0; while [ $i -lt 3000 ]; do echo "noise $i" >&2; i=$((i+1)); done`)
	for range p.Lines() {
	}
	_ = p.Killed()
	if s := p.Stderr(); len(s) > 8<<10 || !strings.HasSuffix(s, "noise 2999") {
		t.Fatalf("%d bytes, end %q", len(s), s[max(0, len(s)-20):])
	}
}

func TestEnvironmentIsAList(t *testing.T) {
	t.Parallel()
	got := proc.Environment([]string{"PATH=/bin", "AGENT_API_KEY=ak_x", "SECRET=1", "AWS_REGION=x", "LC_ALL=C", "FOO=old"}, []string{"AWS_*", "FOO"}, map[string]string{"FOO": "new"})
	if want := []string{"AWS_REGION=x", "FOO=new", "LC_ALL=C", "PATH=/bin"}; !slices.Equal(got, want) {
		t.Fatalf("%v", got)
	}
}
