package alarm_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agntchat/agntchat/internal/letterbox/alarm"
)

// monitor runs a monitor until the test ends it, and gives its lines.
func (p *person) monitor(session string) (lines chan string, end func() []string) {
	p.t.Helper()
	ctx, cancel := context.WithCancel(p.t.Context())
	out, in := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- alarm.Monitor(ctx, p.user, p.reg, session, p.now, yes, in)
		_ = in.Close()
	}()
	lines = make(chan string, 100)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			lines <- s.Text()
		}
	}()
	ended := false
	end = func() (rest []string) {
		if ended {
			return nil
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			p.t.Error(err)
		}
		for l := range lines {
			rest = append(rest, l)
		}
		return rest
	}
	p.t.Cleanup(func() { end() })
	return lines, end
}

// The monitor prints the fixed line for an arrival, once; for what the session's own hooks took it prints nothing; it goes on over a rotation.
func TestL5_MonitorPrintsALineWithoutContent(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.wake()
	p.hook("s", alarm.SessionStart)
	p.arrives(bob, "before it ran")
	lines, end := p.monitor("s")
	if l := <-lines; l != alarm.WakeText {
		t.Fatalf("%q", l)
	}
	p.arrives(bob, "while that is unread")
	p.hook("s", alarm.PromptSubmit, "prompt", "go on")
	if err := os.Rename(p.path("s"), p.path("s")+".1"); err != nil {
		t.Fatal(err)
	}
	p.arrives(bob, "after a rotation")
	if l := <-lines; l != alarm.WakeText {
		t.Fatalf("%q", l)
	}
	if rest := end(); len(rest) > 0 {
		t.Fatalf("more lines: %q", rest)
	}
}

// Without a session it waits, because a monitor that ends is an error to its host; one of a session that is registered later begins then.
func TestL5_MonitorWaits(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.wake()
	p.arrives(bob, "text")
	for _, id := range []string{"", "${CLAUDE_SESSION_ID}", ".hidden"} {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- alarm.Monitor(ctx, p.user, p.reg, id, p.now, yes, failing{t}) }()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{"", "later"} { // its host is gone
		if err := alarm.Monitor(t.Context(), p.user, p.reg, id, p.now, func() bool { return false }, failing{t}); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
	lines, _ := p.monitor("later")
	if _, err := p.user.Attach(t.Context(), p.reg, "later"); err != nil {
		t.Fatal(err)
	}
	if l := <-lines; l != alarm.WakeText {
		t.Fatalf("%q", l)
	}
}

type failing struct{ t *testing.T }

func (f failing) Write(b []byte) (int, error) {
	f.t.Errorf("wrote %q", b)
	return len(b), nil
}

func (p *person) await(ctx context.Context, session string, alive func() bool) error {
	in, err := json.Marshal(map[string]any{"session_id": session})
	if err != nil {
		return err
	}
	return alarm.Await(ctx, alarm.HookOptions{Host: "claude", Identity: p.dir, Registry: p.reg, In: strings.NewReader(string(in)), Now: p.now}, alive)
}

func yes() bool { return true }

// What waits in the background ends when letters may wake, and when there is nothing to wait for.
func TestL5_AwaitEndsWhenLettersWake(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.hook("s", alarm.SessionStart)
	if err := p.await(t.Context(), "s", yes); err != nil {
		t.Fatalf("waking is off: %v", err)
	}
	p.wake()
	if err := p.await(t.Context(), "s", func() bool { return false }); err != nil {
		t.Fatalf("the host is gone: %v", err)
	}
	waiting := make(chan error, 1)
	go func() { waiting <- p.await(t.Context(), "s", yes) }()
	p.arrives(carl, "from nobody verified", "verified", false)
	p.arrives(bob, "from bob")
	if err := <-waiting; !errors.Is(err, alarm.ErrWoken) {
		t.Fatal(err)
	}
	looks := make(chan struct{}, 1)
	go func() { // the same letters do not wake again
		waiting <- p.await(t.Context(), "s", func() bool {
			select {
			case looks <- struct{}{}:
			default:
			}
			return true
		})
	}()
	<-looks
	<-looks
	p.hook("s", alarm.SessionEnd)
	if err := <-waiting; err != nil {
		t.Fatalf("the session ended: %v", err)
	}
	lock := filepath.Join(p.user.Sessions(), ".await-s.lock")
	if _, err := os.Stat(lock); err != nil {
		t.Fatal(err)
	}
	p.hook("next", alarm.SessionStart)
	if _, err := os.Stat(lock); err == nil {
		t.Fatal("the lock of a session that ended stays for ever")
	}
}

// Of two that wait for a session one goes away at once.
func TestL5_OneAwaitsASession(t *testing.T) {
	t.Parallel()
	p := newPerson(t)
	p.wake()
	p.hook("s", alarm.SessionStart)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 2)
	for range 2 {
		go func() { done <- p.await(ctx, "s", yes) }()
	}
	if err := <-done; err != nil { // the other one holds on
		t.Fatal(err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
