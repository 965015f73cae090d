package apptest

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Child is a real program that runs beside the test. It dies with the test's
// process, and is killed when the test ends.
type Child struct {
	Name string
	PID  int

	out  *output
	done chan struct{}
	err  error // of Wait; read after done
}

// output keeps the first and the last of what a child says, and tells of growth.
type output struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{}
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.text.Len() < 4<<20 {
		o.text.Write(b)
	}
	close(o.changed)
	o.changed = make(chan struct{})
	return len(b), nil
}

func (o *output) read() (string, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String(), o.changed
}

// Start runs a program with exactly this environment (and PATH, HOME of dir).
func Start(t testing.TB, name, dir string, env []string, path string, args ...string) *Child {
	t.Helper()
	c := &Child{Name: name, out: &output{changed: make(chan struct{})}, done: make(chan struct{})}
	cmd := exec.Command(path, args...)
	cmd.Dir, cmd.Env = dir, append([]string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + dir}, env...)
	cmd.Stdout, cmd.Stderr = c.out, c.out
	cmd.WaitDelay = 5 * time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func() {
		defer close(c.done)
		runtime.LockOSThread() // the child dies with the thread that started it
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.err = cmd.Wait()
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	c.PID = cmd.Process.Pid
	t.Cleanup(func() {
		c.Kill()
		if t.Failed() {
			text, _ := c.out.read()
			if len(text) > 16<<10 {
				text = text[:4<<10] + "\n…\n" + text[len(text)-12<<10:]
			}
			t.Logf("%s said:\n%s", name, text)
		}
	})
	return c
}

// Kill is kill -9; it returns when the process is gone.
func (c *Child) Kill() {
	_ = c.Signal(syscall.SIGKILL) // gone already is as good
	<-c.done
}

// Signal sends a signal to the process alone.
func (c *Child) Signal(sig syscall.Signal) error {
	select {
	case <-c.done:
		return fmt.Errorf("%s has ended", c.Name)
	default:
		return syscall.Kill(c.PID, sig)
	}
}

// Wait blocks until the process has ended and returns its exit code, -1 after a signal.
func (c *Child) Wait(ctx context.Context) (int, error) {
	select {
	case <-c.done:
	case <-ctx.Done():
		return 0, fmt.Errorf("%s still runs: %w", c.Name, ctx.Err())
	}
	if c.err == nil {
		return 0, nil
	}
	if ee, ok := c.err.(*exec.ExitError); ok { //nolint:errorlint // of Wait itself
		return ee.ExitCode(), nil
	}
	return 0, c.err
}

// Done is closed when the process has ended.
func (c *Child) Done() <-chan struct{} { return c.done }

// Output is what the process has said so far.
func (c *Child) Output() string { text, _ := c.out.read(); return text }

// WaitOutput blocks until the output holds a line with sub and returns the line.
func (c *Child) WaitOutput(ctx context.Context, sub string) (string, error) {
	for {
		text, changed := c.out.read()
		for line := range strings.Lines(text) {
			if strings.Contains(line, sub) && strings.HasSuffix(line, "\n") {
				return strings.TrimSpace(line), nil
			}
		}
		select {
		case <-changed:
		case <-c.done:
			if text, _ = c.out.read(); !strings.Contains(text, sub) {
				return "", fmt.Errorf("%s ended without saying %q: %w", c.Name, sub, c.err)
			}
		case <-ctx.Done():
			return "", fmt.Errorf("%s did not say %q: %w", c.Name, sub, ctx.Err())
		}
	}
}
